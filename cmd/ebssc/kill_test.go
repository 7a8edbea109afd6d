package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// startUntil starts ebssc, and returns when it has written a text, with what it wrote before. Nobody reads on.
func startUntil(t *testing.T, text string, args ...string) (p *process, before string) {
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	p = start(t, writer, args...)
	require.NoError(t, writer.Close())
	defer reader.Close()
	for lines := bufio.NewScanner(reader); lines.Scan(); before += lines.Text() + "\n" {
		if strings.Contains(lines.Text(), text) {
			return p, before
		}
	}
	require.FailNow(t, "it ended before it wrote "+text, before+p.stderr.String())
	return nil, ""
}

// results are the networks and the records of a folder of results, without what the clock says.
func results(t *testing.T, folder string) (networks []string, records map[string]record.Record) {
	records, err := record.LoadAll(filepath.Join(folder, record.Folder))
	require.NoError(t, err)
	for id, r := range records {
		r.Seconds, r.Finished, r.SHA256, r.Origin.Cores = 0, time.Time{}, "", 0
		for i := range r.Curve {
			r.Curve[i].Seconds = 0
		}
		records[id] = r
		network, err := os.ReadFile(train.NetworkFile(folder, id))
		require.NoError(t, err)
		networks = append(networks, string(network))
	}
	return networks, records
}

// A program that is killed in mid-training, and then stopped by a signal, goes on with the same command and ends with the bits of an
// unbroken one, which trains its runs side by side. Meanwhile no other process trains the same run.
func TestKilled(t *testing.T) {
	t.Parallel()
	data, whole, broken := t.TempDir(), t.TempDir(), t.TempDir()
	datasettest.MNIST(t, data, 1000)
	args := func(results string, more ...string) []string {
		return append([]string{"run", "unroll", "--profile", "smoke", "--only", "unroll-0", "--seeds", "2", "--epochs", "40", "--images", "500",
			"--backend", "cpu", "--data", data, "--results", results}, more...)
	}
	p, _ := startUntil(t, "epoch 1 of 40", args(whole, "--jobs", "2")...)
	require.Zero(t, p.status(t), "it goes on where nobody reads what it writes")

	p, _ = startUntil(t, "seed 1: epoch 3 of 40", args(broken)...)
	require.NoError(t, p.Process.Kill())
	require.Equal(t, -1, p.status(t))
	p, before := startUntil(t, "seed 2: epoch 3 of 40", args(broken)...)
	require.Contains(t, before, "seed 1: resumed at")
	require.NoError(t, p.Process.Signal(syscall.SIGSTOP))
	require.Contains(t, start(t, nil, args(broken)...).line(t, 1), "another process is training")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Process.Signal(syscall.SIGCONT))
	require.Contains(t, p.line(t, 143), "ebssc: interrupted; run the same command to go on")

	// A signal ends it also where the checkpoint cannot be saved, which it says.
	checkpoints, err := filepath.Glob(filepath.Join(broken, "*", train.Checkpoints, "*.previous.ckpt"))
	require.NoError(t, err)
	require.Len(t, checkpoints, 1)
	require.NoError(t, os.Rename(checkpoints[0], checkpoints[0]+".aside"))
	require.NoError(t, os.MkdirAll(filepath.Join(checkpoints[0], "in the way"), 0o755))
	p, _ = startUntil(t, "seed 2: compiling", args(broken)...)
	require.NoError(t, p.Process.Signal(syscall.SIGQUIT))
	require.Regexp(t, "saving a checkpoint: .*; interrupted; run the same command to go on", p.line(t, 131))
	require.NoError(t, os.RemoveAll(checkpoints[0]))
	require.Contains(t, succeeds(t, args(broken)...), "seed 2: resumed at")

	const folder = "smoke-mnist-unknown" // made images are not those of the committed results
	networks, records := results(t, filepath.Join(whole, folder))
	require.Len(t, records, 2)
	for _, r := range records {
		require.Less(t, r.TestErr, 20.0, "it learns")
	}
	brokenNetworks, brokenRecords := results(t, filepath.Join(broken, folder))
	require.Equal(t, records, brokenRecords)
	require.ElementsMatch(t, networks, brokenNetworks)

	// These are trials: in the list of runs, and in no table. Their networks decode a test image, and classify it as a picture.
	require.Contains(t, succeeds(t, "runs", "--profile", "smoke", "--results", whole), "--images 50")
	require.NotContains(t, files(t, filepath.Join(whole, folder)), "unroll.csv")
	pictures := filepath.Join(t.TempDir(), "new")
	on := []string{"--run", "unroll-0", "--backend", "cpu", "--data", data, "--results", whole}
	succeeds(t, append([]string{"decode", "--image", "7", "--out", filepath.Join(pictures, "seven.png")}, on...)...)
	require.Contains(t, succeeds(t, append([]string{"classify", filepath.Join(pictures, "seven.png"), "--out", pictures}, on...)...), "PROBABILITY")
	require.FileExists(t, filepath.Join(pictures, "seven_hypotheses.png"))
}
