package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// Runs of several folders come together: each once, the first of two that do not agree, and what is missing is named.
func TestMerge(t *testing.T) {
	serial, one, other := t.TempDir(), t.TempDir(), t.TempDir()
	for _, seed := range []int{1, 2} {
		recordRow(t, serial, "relu-lc7", seed, 300+10*seed, unchanged)
		recordRow(t, serial, "crelu-lc7", seed, 200+10*seed, unchanged)
	}
	recordRow(t, one, "relu-lc7", 1, 310, unchanged)
	recordRow(t, one, "crelu-lc7", 2, 220, func(r *train.Result) { r.Seconds, r.Commit = 99, "abc" })
	recordRow(t, other, "relu-lc7", 2, 320, unchanged)
	recordRow(t, other, "relu-lc7", 1, 310, func(r *train.Result) { r.Seconds = 6 })
	recordRow(t, other, "crelu-lc7", 2, 999, unchanged)
	begun := filepath.Join(other, "smoke", report.RunsFolder, "ssc-lc7-1-0123456789")
	require.NoError(t, os.MkdirAll(begun, 0o755))

	results := t.TempDir()
	m, err := report.Merge(results, one, other)
	require.NoError(t, err)
	require.Len(t, m.Added, 3)
	require.Len(t, m.Twice, 1)
	require.Len(t, m.Inconsistent, 1)
	require.Equal(t, []string{"ssc-lc7-1-0123456789"}, m.Unfinished)
	require.NoError(t, report.Write(results, "smoke"))
	table, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	require.Equal(t, []string{"22.00", "99", "31.50"}, []string{table["crelu-lc7"]["test_err"], table["crelu-lc7"]["seconds"], table["relu-lc7"]["test_err"]})
	missing, err := report.Missing(filepath.Join(results, "smoke"))
	require.NoError(t, err)
	require.Subset(t, missing, []string{"crelu-lc7, seed 1", "ssc-lc7, seed 1", "ssc-lc7, seed 2"})
	require.NotContains(t, missing, "relu-lc7, seed 2")

	// With the last one the table is that of a single machine.
	_, err = report.Merge(results, serial)
	require.NoError(t, err)
	require.NoError(t, report.Write(results, "smoke"))
	require.NoError(t, report.Write(serial, "smoke"))
	ours, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	theirs, err := report.ReadTable(filepath.Join(serial, "smoke", "table.csv"))
	require.NoError(t, err)
	for _, row := range []string{"relu-lc7", "crelu-lc7"} {
		ours[row]["seconds"], theirs[row]["seconds"] = "", ""
	}
	require.Equal(t, theirs, ours)
	missing, err = report.Missing(filepath.Join(results, "smoke"))
	require.NoError(t, err)
	require.NotContains(t, missing, "crelu-lc7, seed 1")

	_, err = report.Merge(results, filepath.Join(one, "none"))
	require.ErrorContains(t, err, "no results in")
}
