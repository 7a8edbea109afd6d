package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	folder, err := os.MkdirTemp("", "ebssc-reliability")
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
	stdout, stderr bytes.Buffer
}

// start starts ebssc with arguments. It ends with the test at the latest.
func start(t *testing.T, args ...string) *process { return startInto(t, nil, args...) }

// startInto is start with another standard output than the process's buffer, if it is not nil.
func startInto(t *testing.T, stdout *os.File, args ...string) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{Cmd: exec.CommandContext(ctx, program, args...)}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if stdout != nil {
		p.Stdout = stdout
	}
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		cancel()
		p.Wait() // Fails where it was waited for.
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

// succeeds runs ebssc and requires that nothing goes wrong.
func succeeds(t *testing.T, args ...string) (stdout string) {
	p := start(t, args...)
	require.Zero(t, p.status(t), p.stderr.String())
	return p.stdout.String()
}

// fails runs ebssc and requires that it ends in one line of error, which it returns.
func fails(t *testing.T, args ...string) (line string) {
	p := start(t, args...)
	require.Equal(t, 1, p.status(t), p.stdout.String())
	line = p.stderr.String()
	require.Equal(t, 1, strings.Count(line, "\n"), line)
	require.True(t, strings.HasPrefix(line, "ebssc: "), line)
	return strings.TrimSpace(line)
}

// tables are the CSV files below a folder of results, by name, without the columns that tell what a run took: seconds and cores.
func tables(t *testing.T, results string) map[string][][]string {
	all := map[string][][]string{}
	require.NoError(t, filepath.WalkDir(results, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if filepath.Ext(path) != ".csv" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name, err := filepath.Rel(results, path)
		all[name] = without(without(records, "seconds"), "cpu")
		return err
	}))
	return all
}

// without is a table without a column.
func without(records [][]string, column string) (rest [][]string) {
	for _, record := range records {
		var kept []string
		for i, field := range record {
			if records[0][i] != column {
				kept = append(kept, field)
			}
		}
		rest = append(rest, kept)
	}
	return rest
}
