package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/study"
)

// ebssc carries out a command line in this process.
func ebssc(args ...string) (status int, stdout, stderr string) {
	var out, errors bytes.Buffer
	status = execute(&out, &errors, args)
	return status, out.String(), errors.String()
}

// write writes made records of a row at profile quick, one a seed, with those numbers of wrong predictions. It returns the last ID.
func write(t *testing.T, results, experiment string, wrong ...int) (id string) {
	for i, count := range wrong {
		r := recordtest.New(t, study.Suite, experiment, "quick", i+1, experiments.Overrides{})
		predictions := []byte(r.Labels)
		for i := range count {
			predictions[i] = '0' + (predictions[i]-'0'+1)%10
		}
		r.Predictions = string(predictions)
		r.TestErr = record.ErrorRate(r.Predictions, r.Labels)
		r, err := r.Save(filepath.Join(results, "quick", record.Folder))
		require.NoError(t, err)
		id = r.ID
	}
	return id
}

// Bad input ends in one line that says what to do, with status 1, before a backend starts and before anything is downloaded or written.
func TestBadInputIsOneLine(t *testing.T) {
	empty, made, cat := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "cat.jpg")
	require.NoError(t, os.WriteFile(cat, nil, 0o600))
	id := write(t, made, "relu-lc7", 30)
	for _, c := range []struct{ args, says string }{
		{"tabel", `unknown command "tabel" for ebssc`},
		{"run tabel", "did you mean table?"},
		{"run table --bakend cpu", "bakend"},
		{"run table --only alexnet", "choose from relu-lc7"},
		{"run table --only crelu-lc", "did you mean crelu-lc7?"},
		{"run table --only unroll-1", "ebssc run unroll --only unroll-1"},
		{"run all --only ssc-lc7-narrow", "ebssc run ablations --only ssc-lc7-narrow"},
		{"run table --only=", "--only names no experiment"},
		{"run table --profile huge", "choose from smoke"},
		{"run unroll --profile weekend", "profile weekend has no study unroll"},
		{"run table --set dropuot=1", "did you mean dropout?"},
		{"run table --set beta=much", "beta=much"},
		{"run table --set beta=-1", "out of range"},
		{"run table --set beta=0.1;beta=0.2", "beta twice"},
		{"run table --set batch_size=60000", "batch_size=60000 does not fit"},
		{"run table --images 60000", "--images 60000"},
		{"run table --held-out 60000", "--held-out 60000"},
		{"run table --seeds -1", "out of range"},
		{"run table --seeds 2000000000", "out of range"},
		{"run table --seeds 0", "--seeds 0 is out of range"},
		{"run table --devices 0", "--devices must be at least 1"},
		{"run table --jobs 0", "--jobs must be at least 1"},
		{"run table --shard 4/3", "such as 3/10"},
		{"run table --results=", "--results is empty"},
		{"run table --results " + made + "/quick", "is the folder of one profile"},
		{"report --results /does/not/exist", "/does/not/exist"},
		{"report --results " + empty, "no runs are recorded in " + empty},
		{"runs --results " + made + "/quick", "is the folder of one profile"},
		{"runs --results " + made + " --profile paper", "no runs are recorded at profile paper"},
		{"compare " + made, "accepts 2 arg(s)"},
		{"compare " + made + " " + made, "no folder of a profile's results"},
		{"decode --results " + made, "no network of CIFAR-10"},
		{"decode --run none --results " + made, "no network of none"},
		{"decode --out /dev/null --results " + made, "--out /dev/null"},
		{"decode --run " + id + " --image 10000 --results " + made, "the run has 200 test images"},
		{"classify " + cat + " " + cat, "would both give cat_hypotheses.png"},
		{"classify " + cat + " --run " + id + " --results " + made, "cat.jpg"},
		{"list --profile huge", "choose from smoke"},
		{"doctor --profile huge", "choose from smoke"},
	} {
		status, _, stderr := ebssc(strings.Fields(c.args)...)
		require.Equal(t, 1, status, c.args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "%s: %s", c.args, stderr)
		require.Contains(t, stderr, c.says, c.args)
	}
	entries, err := os.ReadDir(empty)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// list shows each row with the paper's numbers and its parameters at the profile's width, and how long runs take where one is recorded.
func TestList(t *testing.T) {
	results := t.TempDir()
	write(t, results, "relu-lc7", 30)
	status, stdout, stderr := ebssc("list", "--profile", "paper", "--results", results)
	require.Zero(t, status, stderr)
	for _, text := range []string{"ssc-ebc67", "SSC+EBC₆₋₇", "3194400", "3.2M", "9.23", "not measured"} {
		require.Contains(t, stdout, text)
	}
	run := recordtest.New(t, study.Suite, "relu-lc7", "quick", 1, experiments.Overrides{}).Run // in 24 core seconds, see recordtest
	speeds, err := recordedSpeeds(results)
	require.NoError(t, err)
	require.Equal(t, "1 min", coreTime([]experiments.Run{run}, speeds))
}

// Two folders side by side: a row that got worse beyond the interval gives exit status 3, and one line that names it.
func TestCompare(t *testing.T) {
	results := t.TempDir()
	older, newer := filepath.Join(results, "old", "quick"), filepath.Join(results, "new", "quick")
	write(t, filepath.Dir(older), "relu-lc7", 50, 52, 54)
	write(t, filepath.Dir(newer), "relu-lc7", 51, 52, 53)
	write(t, filepath.Dir(older), "crelu-lc7", 40, 41, 42)
	write(t, filepath.Dir(newer), "crelu-lc7", 60, 61, 62)
	status, stdout, stderr := ebssc("compare", older, newer)
	require.Equal(t, 3, status, stderr)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	require.Contains(t, stderr, "crelu-lc7")
	require.Regexp(t, `CReLU.* worse`, stdout)
	status, stdout, stderr = ebssc("compare", newer, older)
	require.Zero(t, status, stderr)
	require.Regexp(t, `CReLU.* better`, stdout)
}
