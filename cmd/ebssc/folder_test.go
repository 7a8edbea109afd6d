package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache/cachetest"
)

// row is a run of one of the small networks, as short as can be.
func row(name, data, results string) []string {
	return []string{"run", "unroll", "--profile", "smoke", "--only", name, "--epochs", "1", "--images", "300",
		"--backend", "cpu", "--data", data, "--results", results}
}

// Of two programs with the same work one does it and the other says so in one line; with different work both do theirs, and
// both lines stand in the table.
func TestTwoAtOnce(t *testing.T) {
	data, results := digits(t), t.TempDir()
	first, second := start(t, row("unroll-0", data, results)...), start(t, row("unroll-0", data, results)...)
	other := start(t, row("unroll-1", data, results)...)
	statuses := []int{first.status(t), second.status(t)}
	require.ElementsMatch(t, []int{0, 1}, statuses, first.stderr.String()+second.stderr.String())
	refused := first.stderr.String() + second.stderr.String()
	require.Equal(t, 1, strings.Count(refused, "\n"), refused)
	require.Contains(t, refused, "another process is training")
	require.Zero(t, other.status(t), other.stderr.String())
	trials := tables(t, results)[filepath.Join("smoke", "trials.csv")]
	require.Len(t, trials, 3)
	require.Equal(t, []string{"unroll-0", "unroll-1"}, []string{trials[1][0], trials[2][0]})

	// A lock is not kept by the dead.
	dead := start(t, row("unroll-2", data, results)...)
	waitForFiles(t, results, 2)
	require.NoError(t, dead.Process.Kill())
	require.Equal(t, -1, dead.status(t))
	succeeds(t, row("unroll-2", data, results)...)
}

// A full disk and one that cannot be written end a run in one line, and what was there before stays. With room again the same
// command goes on.
func TestDiskThatCannotBeWritten(t *testing.T) {
	data, results := digits(t), cachetest.Disk(t, 4096)
	succeeds(t, row("unroll-0", data, results)...)
	require.NoError(t, os.Remove(filepath.Join(results, "paper.csv"))) // so that a report has something to write
	before := tables(t, results)
	require.NotEmpty(t, before)

	cachetest.Fill(t, results)
	line := fails(t, row("unroll-1", data, results)...)
	require.Contains(t, line, "no space left on device")
	require.Less(t, len(line), 400, line)
	require.Equal(t, before, tables(t, results))
	line = fails(t, "report", "--results", results)
	require.Contains(t, line, "no space left on device")
	require.Equal(t, before, tables(t, results))
	cachetest.Empty(t, results)
	succeeds(t, row("unroll-1", data, results)...)
	before = tables(t, results)
	require.Len(t, before[filepath.Join("smoke", "trials.csv")], 3)

	cachetest.ReadOnly(t, results)
	for _, args := range [][]string{row("unroll-2", data, results), {"report", "--results", results}} {
		line = fails(t, args...)
		require.Contains(t, line, "read-only file system")
		require.Contains(t, line, results)
	}
	require.Equal(t, before, tables(t, results))
}

// A disk that fills up in the midst of training loses no more than the epoch.
func TestDiskThatFillsUp(t *testing.T) {
	data, results, unbroken := digits(t), cachetest.Disk(t, 4096), t.TempDir()
	succeeds(t, row("unroll-0", data, unbroken)...)
	p := start(t, row("unroll-0", data, results)...)
	waitForFiles(t, results, 2) // the folder of checkpoints, and the lock
	cachetest.Fill(t, results)
	require.Equal(t, 1, p.status(t))
	require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), p.stderr.String())
	require.Contains(t, p.stderr.String(), "no space left on device")
	cachetest.Empty(t, results)
	succeeds(t, row("unroll-0", data, results)...)
	require.Equal(t, tables(t, unbroken), tables(t, results))
}

// Folders of someone else are named.
func TestFolderOfSomeoneElse(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	results := t.TempDir()
	require.NoError(t, os.Chmod(results, 0o555))
	require.Contains(t, fails(t, row("unroll-0", digits(t), results)...), "permission denied")
}

// A file where the folder of the results should be is named.
func TestFileInPlaceOfFolder(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results")
	require.NoError(t, os.WriteFile(results, nil, 0o644))
	require.Contains(t, fails(t, row("unroll-0", digits(t), results)...), results)
	require.Contains(t, fails(t, "report", "--results", results), results)
}

// A folder without runs, and none, are named before anything is trained or written.
func TestFolderWithoutRuns(t *testing.T) {
	results := t.TempDir()
	for _, command := range []string{"report", "runs"} {
		require.Contains(t, fails(t, command, "--results", results), "no runs are recorded in "+results)
	}
	entries, err := os.ReadDir(results)
	require.NoError(t, err)
	require.Empty(t, entries)
	require.Contains(t, fails(t, row("unroll-0", digits(t), "")...), "--results is empty")
}
