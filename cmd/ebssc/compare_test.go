package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/study"
)

// Two folders side by side: a row that got worse beyond the interval gives exit status 3, and one line that names it.
func TestCompareEndToEnd(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(results, experiment string, wrong int) {
		r := recordtest.New(t, study.Suite, experiment, "quick", 1, experiments.Overrides{})
		predictions := []byte(r.Labels)
		for i := range wrong {
			predictions[i] = '0' + (predictions[i]-'0'+1)%10
		}
		r.Predictions = string(predictions)
		r.TestErr = record.ErrorRate(r.Predictions, r.Labels)
		_, err := r.Write(filepath.Join(results, "quick", record.Folder))
		require.NoError(t, err)
	}
	write("old", "relu-lc7", 70)
	write("old", "crelu-lc7", 40)
	write("new", "relu-lc7", 72)
	write("new", "crelu-lc7", 100)
	write("new", "ssc-lc7", 50)
	status, stdout, stderr := ebssc("compare", "old/quick", "new/quick")
	require.Equal(t, 3, status, stderr)
	require.Equal(t, "ebssc: worse beyond the interval: table crelu-lc7\n", stderr)
	require.Contains(t, stdout, "only in B: ssc-lc7")
	require.Regexp(t, `crelu-lc7 .* worse`, stdout)
	require.Regexp(t, `relu-lc7 .* within`, stdout)
	var unread bytes.Buffer
	require.Equal(t, 3, execute(broken{}, &unread, []string{"compare", "old/quick", "new/quick"}), "also where nobody reads it")
	require.Equal(t, stderr, unread.String())
	status, stdout, stderr = ebssc("compare", "new/quick", "old/quick")
	require.Zero(t, status, stderr)
	require.Regexp(t, `crelu-lc7 .* better`, stdout)
}

// broken is a pipe that nobody reads any more.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// What cannot be compared is an error, status 1, in one line.
func TestCompareErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "accepts 2 arg(s)"},
		{[]string{"/does/not/exist", t.TempDir()}, "/does/not/exist"},
		{[]string{t.TempDir(), t.TempDir()}, "record"},
	} {
		status, stdout, stderr := ebssc(append([]string{"compare"}, c.args...)...)
		require.Equal(t, 1, status, c.args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.Contains(t, stderr, c.says)
		require.Empty(t, stdout)
	}
}
