package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/report"
)

// run carries out a command line.
func ebssc(args ...string) (status int, stdout, stderr string) {
	var out, errors bytes.Buffer
	status = execute(&out, &errors, args)
	return status, out.String(), errors.String()
}

// The smoke profile from the command line to the table, trained for real: far beyond chance (90 % error).
func TestSmokeRunEndToEnd(t *testing.T) {
	data, results := datasettest.CIFAR10(t), t.TempDir()
	args := []string{"run", "table", "--profile", "smoke", "--only", "ssc-ebc67", "--epochs", "4",
		"--backend", "cpu", "--data", data, "--results", results}
	status, stdout, stderr := ebssc(args...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "images/s")
	lines, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	require.Len(t, lines, 1)
	for name, line := range lines {
		testErr, err := strconv.ParseFloat(line["test_err"], 64)
		require.NoError(t, err)
		require.Less(t, testErr, 60.0, "%s\n%s", name, stdout)
		require.Equal(t, "cifar10-unknown", line["dataset"])
		require.Len(t, line["dataset_sha256"], 64)
		require.Equal(t, "xla-cpu", line["backend"])
	}

	before, err := os.ReadFile(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	status, stdout, stderr = ebssc(args...)
	require.Zero(t, status, stderr)
	require.NotContains(t, stdout, "images/s", "finished runs are not trained again")
	after, err := os.ReadFile(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// Decodings from the command line to the figures: of a network trained for real, with an image that is chosen.
func TestDecodingEndToEnd(t *testing.T) {
	results := t.TempDir()
	args := []string{"run", "decoding", "--profile", "smoke", "--epochs", "1", "--backend", "cpu", "--data", datasettest.CIFAR10(t), "--results", results}
	status, stdout, stderr := ebssc(append(args, "--image", "7")...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "Test image 7 (horse)")
	folder := filepath.Join(results, "smoke")
	for _, file := range []string{"decoding_levels.png", "decoding_filters.png", "shrinkage.png", "shrinkage.svg"} {
		require.FileExists(t, filepath.Join(folder, "figures", file))
	}
	text, err := os.ReadFile(filepath.Join(folder, "decoding.csv"))
	require.NoError(t, err)
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, records, 1+2*7, "seven blocks, trained and not")
	cosine, err := strconv.ParseFloat(records[1][10], 64)
	require.NoError(t, err)
	require.Greater(t, cosine, 0.5, "a block of 3×3 filters keeps most of an image")

	status, _, stderr = ebssc(append(args, "--image", "100")...)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "--image 100: there are 100 test images")
	again, err := os.ReadFile(filepath.Join(folder, "decoding.csv"))
	require.NoError(t, err)
	require.Equal(t, string(text), string(again))
}

// interruptAt sends the process SIGINT when a text is written.
type interruptAt struct {
	bytes.Buffer
	text string
	sent bool
}

func (w *interruptAt) Write(text []byte) (int, error) {
	if !w.sent && strings.Contains(string(text), w.text) {
		w.sent = true
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			return 0, err
		}
	}
	return w.Buffer.Write(text)
}

// Ctrl-C ends a run with status 130 and one line; the same command goes on from the last epoch.
func TestInterruptedRunGoesOn(t *testing.T) {
	args := []string{"run", "table", "--profile", "smoke", "--only", "relu-lc7", "--epochs", "3", "--set", "plain_ops=true",
		"--backend", "cpu", "--data", datasettest.CIFAR10(t), "--results", t.TempDir()}
	stdout, stderr := &interruptAt{text: "epoch 1/3"}, &bytes.Buffer{}
	require.Equal(t, 130, execute(stdout, stderr, args))
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	require.Contains(t, stderr.String(), "run the same command")
	require.NotContains(t, stdout.String(), "epoch 3/3")

	status, again, failure := ebssc(args...)
	require.Zero(t, status, failure)
	require.NotContains(t, again, "epoch 1/3")
	require.Contains(t, again, "epoch 3/3")
}

// A run that another process is training is refused in one line.
func TestLockedRunIsRefused(t *testing.T) {
	data, results := datasettest.CIFAR10(t), t.TempDir()
	stdout := &interruptAt{text: "whitening"}
	args := []string{"run", "table", "--profile", "smoke", "--only", "relu-lc7", "--backend", "go", "--data", data, "--results", results}
	require.Equal(t, 130, execute(stdout, &bytes.Buffer{}, args))
	locks, err := filepath.Glob(filepath.Join(results, "smoke", "runs", "*", "lock"))
	require.NoError(t, err)
	require.Len(t, locks, 1)
	other := flock.New(locks[0])
	require.NoError(t, other.Lock())
	defer other.Unlock()
	status, _, stderr := ebssc(args...)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "another process")
}

// Bad input ends in one line that says what to do, with status 1, before anything is trained.
func TestBadInputIsOneLine(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct{ args, says string }{
		{"run table --only alexnet", "choose from relu-lc7"},
		{"run table --profile huge", "choose from smoke"},
		{"run table --set dropuot_rate=1", "dropout_rate"},
		{"run table --set beta=much", "beta"},
		{"run table --set beta=-1 --backend go --data DATA", "out of range"},
		{"run table --seeds -1", "must not be negative"},
		{"run table --devices 0", "--devices must be at least 1"},
		{"run table --devices 2 --backend go --data DATA", "backend go has 1 device(s), not 2"},
		{"run table --devices 3 --set batch_size=20 --backend cpu --data DATA --results " + empty, "take a multiple of 3 with --set=batch_size=…"},
		{"plan table --devices 3 --set batch_size=20 --backend cpu --data DATA --results " + empty, "take a multiple of 3 with --set=batch_size=…"},
		{"run table --data " + empty, empty},
		{"run table --data /does/not/exist", "/does/not/exist"},
		{"run table --bakend cpu", "bakend"},
		{"run tabel", "tabel"},
		{"tabel", "tabel"},
		{"export", "--run and --out"},
		{"export --run none --out x.npz --results " + empty, "no run"},
	} {
		if strings.Contains(c.args, "DATA") {
			c.args = strings.Replace(c.args, "DATA", datasettest.CIFAR10(t), 1)
		}
		status, _, stderr := ebssc(strings.Fields(c.args)...)
		require.Equal(t, 1, status, c.args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "%s: %s", c.args, stderr)
		require.Contains(t, stderr, c.says)
	}
	entries, err := os.ReadDir(empty)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// list shows each row with the paper's numbers and its parameters.
func TestList(t *testing.T) {
	status, stdout, _ := ebssc("list")
	require.Zero(t, status)
	for _, text := range []string{"ssc-ebc67", "SSC+EBC₆₋₇", "3194400", "3.2M", "9.23", "quick"} {
		require.Contains(t, stdout, text)
	}
}

// doctor names what it looked at, and installs nothing.
func TestDoctor(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("EBSSC_CACHE", cache)
	status, stdout, stderr := ebssc("doctor")
	require.Zero(t, status, stderr)
	for _, text := range []string{"CPU plugin", "CIFAR-10", "MNIST", "Python and pip"} {
		require.Contains(t, stdout, text)
	}
	require.NoError(t, filepath.WalkDir(cache, func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		require.True(t, entry.IsDir(), "%s was made", path)
		return nil
	}))
}

// Rows that are trained side by side come out as they do one after the other, bit for bit.
func TestJobs(t *testing.T) {
	data, tables := datasettest.CIFAR10(t), [2][][]string{}
	for i := range tables {
		results := t.TempDir()
		status, stdout, stderr := ebssc("run", "table", "--profile", "smoke", "--only", "relu-lc7", "--seeds", "2", "--epochs", "1",
			"--set", "plain_ops=true;whiten=false", "--backend", "cpu", "--data", data, "--results", results, "--jobs", strconv.Itoa(1+i))
		require.Zero(t, status, stderr)
		require.Equal(t, 2, strings.Count(stdout, "epoch 1/1: "))
		file, err := os.Open(filepath.Join(results, "smoke", "table.csv"))
		require.NoError(t, err)
		defer file.Close()
		tables[i], err = csv.NewReader(file).ReadAll()
		require.NoError(t, err)
		seconds := slices.Index(tables[i][0], "seconds")
		for _, line := range tables[i] {
			line[seconds] = ""
		}
	}
	require.Equal(t, tables[0], tables[1])
}

// A run on two devices ends like any other; reports say on how many it was, and a plan finds it.
func TestDevices(t *testing.T) {
	results := t.TempDir()
	args := []string{"table", "--profile", "smoke", "--epochs", "1", "--set", "whiten=false;batch_size=200", "--backend", "cpu", "--devices", "2",
		"--data", datasettest.CIFAR10(t), "--results", results}
	status, stdout, stderr := ebssc(append([]string{"run", "--only", "relu-lc7"}, args...)...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "on xla-cpu, 2 devices (asked for)")
	lines, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	require.Equal(t, "xla-cpu, 2 devices", lines["relu-lc7"]["backend"])
	text, err := os.ReadFile(filepath.Join(results, "smoke", "table.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "backend xla-cpu, 2 devices,")

	status, stdout, stderr = ebssc(append([]string{"plan"}, args...)...)
	require.Zero(t, status, stderr)
	first, _, _ := strings.Cut(stdout, "\n")
	require.Contains(t, first, `"done":true`)
	require.Contains(t, first, "--devices 2")
}
