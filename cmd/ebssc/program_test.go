package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// program is the built ebssc.
var program string

// TestMain builds the program once.
func TestMain(m *testing.M) {
	status, err := withProgram(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func withProgram(m *testing.M) (status int, err error) {
	folder, err := os.MkdirTemp("", "ebssc-test")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "ebssc")
	if out, err := exec.Command("go", "build", "-o", program, "ebsscgo/cmd/ebssc").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building ebssc: %w: %s", err, out)
	}
	return m.Run(), nil
}

// process is a running ebssc.
type process struct {
	*exec.Cmd
	stderr bytes.Buffer
}

// start starts ebssc with arguments. It ends with the test at the latest.
func start(t *testing.T, stdout io.Writer, args ...string) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{Cmd: exec.CommandContext(ctx, program, args...)}
	p.Stdout, p.Stderr = stdout, &p.stderr
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		cancel()
		p.Wait() // fails where it was waited for
	})
	return p
}

// status waits for the end of a process; -1 is that of a killed one.
func (p *process) status(t *testing.T) int {
	var failure *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &failure) {
		require.NoError(t, err)
	}
	return p.ProcessState.ExitCode()
}

// line requires that a process ends with that status and one line of error, and returns the line.
func (p *process) line(t *testing.T, status int) string {
	require.Equal(t, status, p.status(t), p.stderr.String())
	require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), p.stderr.String())
	return p.stderr.String()
}

// succeeds runs ebssc and requires that nothing goes wrong.
func succeeds(t *testing.T, args ...string) string {
	var stdout bytes.Buffer
	p := start(t, &stdout, args...)
	require.Zero(t, p.status(t), p.stderr.String())
	return stdout.String()
}

// files are all files of a folder of results but checkpoints, by their paths in it.
func files(t *testing.T, folder string) map[string]string {
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == train.Checkpoints {
			return fs.SkipDir
		}
		if err == nil && !entry.IsDir() {
			text, err := os.ReadFile(filepath.Join(folder, path))
			all[path] = string(text)
			return err
		}
		return err
	}))
	return all
}

// The real program from declarations to reports at profile smoke: a row of the table, and a network that is decoded.
func TestSmoke(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	args := []string{"run", "all", "--profile", "smoke", "--only", "crelu-lc7,ssc-ebc17",
		"--backend", "cpu", "--data", datasettest.CIFAR10(t), "--results", results}
	require.Contains(t, succeeds(t, args...), "epoch 4 of 4")
	folder := filepath.Join(results, "smoke-cifar10-unknown") // made images are not those of the committed results
	reports := files(t, folder)
	require.Contains(t, reports, report.File)
	require.Contains(t, reports["table.csv"], "crelu-lc7")
	require.Contains(t, reports["decodings.csv"], "conv7")
	records, err := record.LoadAll(filepath.Join(folder, record.Folder))
	require.NoError(t, err)
	require.Len(t, records, 2)
	for id := range records {
		require.FileExists(t, train.NetworkFile(folder, id))
	}

	// What is recorded is not trained again, and the same records give the same reports.
	require.NotContains(t, succeeds(t, args...), "epoch 1 of")
	device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer device.Close()
	require.Contains(t, start(t, device, args...).line(t, 1), "no space left")
	require.NoError(t, os.Remove(filepath.Join(folder, report.File)))
	succeeds(t, "report", "--results", results)
	require.Equal(t, reports, files(t, folder))
	require.Contains(t, succeeds(t, "compare", folder, folder), "CReLU+LC₇")
}
