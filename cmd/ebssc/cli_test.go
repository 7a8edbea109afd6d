package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/study"
	"ebsscgo/internal/train"
)

// ebssc carries out a command line.
func ebssc(args ...string) (status int, stdout, stderr string) {
	var out, errors bytes.Buffer
	status = execute(&out, &errors, args)
	return status, out.String(), errors.String()
}

// table reads a CSV file of reports.
func table(t *testing.T, path string) [][]string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	return records
}

// cell is a line's field in a column of a table.
func cell(t *testing.T, records [][]string, line int, column string) string {
	i := slices.Index(records[0], column)
	require.GreaterOrEqual(t, i, 0, column)
	return records[line][i]
}

// The smoke profile from the command line to the table, trained for real: far beyond chance (90 % error). A trial stands beside it in
// the list of runs, and does not take its place.
func TestSmokeRunEndToEnd(t *testing.T) {
	data, results := datasettest.CIFAR10(t), t.TempDir()
	args := []string{"run", "table", "--profile", "smoke", "--only", "ssc-ebc67", "--backend", "cpu", "--data", data, "--results", results}
	status, stdout, stderr := ebssc(args...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "images/s")
	require.Contains(t, stdout, "warning: records will not name the commit", "a test is not built from a commit")
	require.Regexp(t, `\nMODEL .*\nSSC\+EBC₆₋₇ +\d`, stdout)
	require.Contains(t, stdout, "\nOf 14 claims of the paper, 0 agree")
	path := filepath.Join(results, "smoke", "table.csv")
	lines := table(t, path)
	require.Len(t, lines, 2)
	testErr, err := strconv.ParseFloat(cell(t, lines, 1, "test_err"), 64)
	require.NoError(t, err)
	require.Less(t, testErr, 60.0, stdout)
	require.Equal(t, "cifar10-unknown", cell(t, lines, 1, "dataset"))
	require.Len(t, cell(t, lines, 1, "dataset_sha256"), 64)
	require.Equal(t, "xla-cpu", cell(t, lines, 1, "backend"))

	status, stdout, stderr = ebssc(append(args, "--epochs", "1", "--images", "300", "--set", "plain_ops=true;whiten=false", "--shard", "1/1")...)
	require.Zero(t, status, stderr)
	require.Equal(t, lines, table(t, path), "a shard writes no reports")
	status, stdout, stderr = ebssc(args...)
	require.Zero(t, status, stderr)
	require.NotContains(t, stdout, "images/s", "recorded runs are not trained again")
	require.Equal(t, lines, table(t, path))
	status, stdout, stderr = ebssc("runs", "--profile", "smoke", "--results", results, "--csv")
	require.Zero(t, status, stderr)
	runs, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	require.NoError(t, err)
	require.Len(t, runs, 3)
	require.Empty(t, cell(t, runs, 1, "differs"))
	require.Equal(t, "images=300, epochs=1, plain_ops=true, whiten=false", cell(t, runs, 2, "differs"))
	status, stdout, stderr = ebssc("runs", "--profile", "smoke", "--results", results)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "images=300, epochs=1, plain_ops=true, whiten=false")
	require.Regexp(t, `(?m)^not trained at profile smoke: .* --results `+results+`$`, stdout)
}

// Decodings from the command line to the figures, of a network trained for real.
func TestDecodingEndToEnd(t *testing.T) {
	data, results := datasettest.CIFAR10(t), t.TempDir()
	status, stdout, stderr := ebssc("run", "decoding", "--profile", "smoke", "--backend", "cpu", "--data", data, "--results", results)
	require.Zero(t, status, stderr)
	require.Regexp(t, `\nconv7 +0\.\d+ ± `, stdout)
	require.Contains(t, stdout, "report.html\n")
	folder := filepath.Join(results, "smoke")
	records, err := record.LoadAll(filepath.Join(folder, record.Folder))
	require.NoError(t, err)
	require.Len(t, records, 1)
	for _, file := range []string{records[0].ID + "_levels.png", records[0].ID + "_filters.png", "shrinkage.png", "shrinkage.svg"} {
		require.FileExists(t, filepath.Join(folder, record.FiguresFolder, file))
	}
	measured := table(t, filepath.Join(folder, "decoding.csv"))
	require.Len(t, measured, 1+2*7, "seven blocks, trained and not")
	cosine, err := strconv.ParseFloat(cell(t, measured, 1, "cosine"), 64)
	require.NoError(t, err)
	require.Greater(t, cosine, 0.5, "a block of 3×3 filters keeps most of an image")

	// A picture that is not the one of the record is refused.
	require.NoError(t, os.WriteFile(filepath.Join(folder, record.FiguresFolder, records[0].ID+"_levels.png"), []byte("another"), 0o644))
	status, _, stderr = ebssc("report", "--results", results)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, records[0].ID+"_levels.png")
	status, stdout, stderr = ebssc("run", "table", "--only", "relu-lc7", "--profile", "smoke", "--backend", "cpu", "--data", data, "--results", results)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "or remove the record and run the experiment again")
	require.NotContains(t, stdout, "epoch", "this is seen before anything is trained")
}

// A trained network decodes a chosen image, and classifies a picture.
func TestDecodeAndClassify(t *testing.T) {
	data, results := digits(t), t.TempDir()
	status, _, stderr := ebssc(row("unroll-1", data, results)...)
	require.Zero(t, status, stderr)
	status, listed, stderr := ebssc("runs", "--profile", "smoke", "--results", results)
	require.Zero(t, status, stderr)
	id := regexp.MustCompile(`(?m)^unroll-1 +(\S+)`).FindStringSubmatch(listed)
	require.NotNil(t, id, listed)
	folder := t.TempDir()
	seven := filepath.Join(folder, "seven.png")
	network := []string{"--run", id[1], "--backend", "cpu", "--data", data, "--results", results}
	decode := append([]string{"decode", "--out", seven}, network...)
	status, _, stderr = ebssc(append(decode, "--image", "7")...)
	require.Zero(t, status, stderr)
	require.FileExists(t, seven)
	status, _, stderr = ebssc(append(decode, "--image", "1000")...)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "--image 1000: the run has 1000 test images")

	status, scores, stderr := ebssc(append([]string{"classify", seven, "--out", folder}, network...)...)
	require.Zero(t, status, stderr)
	require.Contains(t, scores, "PROBABILITY")
	require.Contains(t, scores, "ENERGY")
	require.FileExists(t, filepath.Join(folder, "seven_hypotheses.png"))
	status, _, stderr = ebssc(append([]string{"classify", "nothing.png"}, network...)...)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "nothing.png")
}

// A run that diverges does not stop the others; in the end it is an error.
func TestDivergedRunDoesNotStopOthers(t *testing.T) {
	data, results := datasettest.CIFAR10(t), t.TempDir()
	datasettest.MNIST(t, data, 1000)
	status, stdout, stderr := ebssc("run", "all", "--profile", "smoke", "--only", "relu-lc7,unroll-0", "--epochs", "1", "--images", "800",
		"--backend", "cpu", "--data", data, "--results", results,
		"--set", "muon_rate=1;muon_decay=100;warm_up=0;whiten=false") // unroll-0 trains with Adam alone
	require.Equal(t, 1, status, stdout)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	require.Regexp(t, `^ebssc: relu-lc7-1-\w+ diverged: the loss is NaN after step \d+ with .*; try smaller rates with --set\n$`, stderr)
	require.Contains(t, stdout, "going on with the other runs\n")
	require.Contains(t, stdout, "\nall runs, trials too: ebssc runs ", "what was trained is shown")
	records, err := record.LoadAll(filepath.Join(results, "smoke", record.Folder))
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, "unroll-0", records[0].Run.Experiment)
	require.FileExists(t, filepath.Join(results, "smoke", "trials.csv"), "reports are written")
	status, _, stderr = ebssc("runs", "--profile", "paper", "--results", results)
	require.Equal(t, []any{1, "ebssc: no runs are recorded at profile paper in " + results + ": ebssc run table --profile paper --results " + results + "\n"},
		[]any{status, stderr})
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
	args := []string{"run", "unroll", "--profile", "smoke", "--only", "unroll-0", "--epochs", "3",
		"--backend", "cpu", "--data", digits(t), "--results", t.TempDir()}
	stdout, stderr := &interruptAt{text: "epoch 1 of 3"}, &bytes.Buffer{}
	require.Equal(t, 130, execute(stdout, stderr, args))
	require.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr.String())
	require.Contains(t, stderr.String(), "run the same command")
	require.NotContains(t, stdout.String(), "epoch 3 of 3")
	require.Contains(t, stdout.String(), "run 1 of 1, T = 0, seed 1: finishing the step and saving a checkpoint\n")

	status, again, failure := ebssc(args...)
	require.Zero(t, status, failure)
	require.Contains(t, again, "run 1 of 1, T = 0, seed 1: resumed at step")
	require.NotContains(t, again, "epoch 1 of 3")
	require.Contains(t, again, "epoch 3 of 3")
}

// Ctrl-C before the first run begins ends the program in the same way.
func TestInterruptedBeforeARun(t *testing.T) {
	stdout, stderr := &interruptAt{text: "results in "}, &bytes.Buffer{}
	require.Equal(t, 130, execute(stdout, stderr, []string{"run", "unroll", "--profile", "smoke", "--backend", "go", "--data", digits(t), "--results", t.TempDir()}))
	require.Contains(t, stderr.String(), "run the same command")
}

// A run that another process is training is refused in one line.
func TestLockedRunIsRefused(t *testing.T) {
	data, results := datasettest.CIFAR10(t), t.TempDir()
	stdout := &interruptAt{text: "whitening"}
	args := []string{"run", "table", "--profile", "smoke", "--only", "relu-lc7", "--backend", "go", "--data", data, "--results", results}
	require.Equal(t, 130, execute(stdout, &bytes.Buffer{}, args))
	locks, err := filepath.Glob(filepath.Join(results, "smoke", train.Checkpoints, "*.lock"))
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
	empty, cat := t.TempDir(), filepath.Join(t.TempDir(), "cat.jpg")
	require.NoError(t, os.WriteFile(cat, nil, 0o600))
	for _, c := range []struct{ args, says string }{
		{"run table --only alexnet", "choose from relu-lc7"},
		{"run table --only crelu-lc", "did you mean crelu-lc7? choose from relu-lc7"},
		{"run table --profile huge", "choose from smoke"},
		{"run table --set dropuot_rate=1", "did you mean dropout_rate?"},
		{"run table --set beta=much", "beta"},
		{"run table --set beta=-1", "out of range"},
		{"run table --set whiten=maybe", "whiten=maybe: choose true or false"},
		{"run table --set batch_size=64.5", "batch_size=64.5: choose a whole number"},
		{"run table --only ,", "unknown experiment"},
		{"run table --only unroll-1", "unroll-1 is an experiment of study unroll: ebssc run unroll --only unroll-1"},
		{"run all --only ssc-lc7-raw", "ssc-lc7-raw is an experiment of study ablations: ebssc run ablations --only ssc-lc7-raw"},
		{"run table --only=", "--only names no experiment"},
		{"run table --images 60000 --data DATA", "--images 60000: there are"},
		{"run table --seeds -1", "out of range"},
		{"run table --seeds 2000000000", "--seeds 2000000000 is out of range: choose 1 to 1000"},
		{"run table --width -1", "out of range"},
		{"run table --width 0", "--width 0 is out of range"},
		{"run table --seeds 0", "--seeds 0 is out of range"},
		{"run table --held-out 60000", "--held-out 60000 leaves nothing to train on"},
		{"run table --set batch_size=60000", "batch_size=60000 does not fit"},
		{"run table --set beta=0.1;beta=0.2", "--set gives beta twice"},
		{"run table --set file:/dev/zero", "/dev/zero is not a file of settings"},
		{"run table --shard 3", "give the shard and the number of shards, such as 3/10"},
		{"run table --shard 4/3", "give the shard and the number of shards, such as 3/10"},
		{"run table --shard 0/3", "give the shard and the number of shards, such as 3/10"},
		{"run --id relu-lc7-1-0123456789", "unknown flag: --id"},
		{"run table --devices 0", "--devices must be at least 1"},
		{"run table --devices 2 --backend go --data DATA", "backend go has fewer than 2 devices: ask for at most 1"},
		{"run table --devices 3 --set batch_size=20", "take a multiple of 3 with --set=batch_size=…"},
		{"run table --data " + empty, empty},
		{"run table --data /does/not/exist", "/does/not/exist"},
		{"run unroll --grid --set learning_rate=0.01", "--grid needs --held-out"},
		{"run unroll --grid --held-out 100 --set learning_rate=0.01", "--set learning_rate: the grid of study unroll has its values"},
		{"classify " + cat + " " + cat, "two pictures would give the same cat_hypotheses.png"},
		{"run table --bakend cpu", "bakend"},
		{"run tabel", `unknown command "tabel" for ebssc run; did you mean table?`},
		{"tabel", "tabel"},
		{"export", "--run and --out"},
		{"export --run none --out x.npz --results " + empty, "no runs are recorded in " + empty},
		{"export --run none --out x.npz --results ../../results", "no record of a run"},
		{"export --run ../../../x/runs/none --out x.npz --results ../../results", "no record of a run"},
		{"export --run none --out /dev/null --results " + empty, "/dev/null is no regular file"},
		{"decode --run none --out /dev/null --results " + empty, "/dev/null is no regular file"},
		{"report --results /does/not/exist", "/does/not/exist"},
		{"runs --results /does/not/exist", "/does/not/exist"},
		{"runs --results ../../results/quick", "../../results/quick is the folder of one profile"},
		{"run table --results ../../results/quick", "../../results/quick is the folder of one profile"},
		{"classify " + cat + " --results ../../results/quick", "../../results/quick is the folder of one profile"},
		{"decode --run none --out /does/not/exist/x.png", "no folder /does/not/exist"},
		{"classify " + cat + " --out /does/not/exist", "no folder /does/not/exist"},
		{"classify " + cat + " --results ../../results", "reading " + cat},
		{"bench --rounds 0 --backend cuda", "0 rounds"},
		{"bench --peers theano --backend cuda", "choose from torch"},
		{"bench --sizes 100000000x96", "batches of up to"},
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

// list shows each row with the paper's numbers and its parameters at the profile's width.
func TestList(t *testing.T) {
	status, stdout, _ := ebssc("list", "--profile", "paper", "--results", "../../results")
	require.Zero(t, status)
	for _, text := range []string{"ssc-ebc67", "SSC+EBC₆₋₇", "3194400", "3.2M", "9.23", "quick", "not measured"} {
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

// Rows that are trained side by side come out as they do alone, in shards whose records are copied into one folder, bit for bit.
func TestJobsAndShards(t *testing.T) {
	data := digits(t)
	train := func(results string, more ...string) {
		status, _, stderr := ebssc(append([]string{"run", "unroll", "--profile", "smoke", "--only", "unroll-0", "--seeds", "2", "--epochs", "1", "--backend", "cpu", "--data", data, "--results", results}, more...)...)
		require.Zero(t, status, stderr)
	}
	together, shards, other := t.TempDir(), t.TempDir(), t.TempDir()
	train(together, "--jobs", "2")
	train(shards, "--shard", "1/2")
	train(other, "--shard", "2/2")
	records, err := filepath.Glob(filepath.Join(other, "smoke", record.Folder, "*.json"))
	require.NoError(t, err)
	require.Len(t, records, 1)
	text, err := os.ReadFile(records[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(shards, "smoke", record.Folder, filepath.Base(records[0])), text, 0o644))
	status, _, stderr := ebssc("report", "--results", shards)
	require.Zero(t, status, stderr)
	want := tables(t, together)
	require.Equal(t, "2", cell(t, want[filepath.Join("smoke", "trials.csv")], 1, "seeds"))
	delete(want, "paper.csv")
	merged := tables(t, shards)
	delete(merged, "paper.csv")
	require.Equal(t, want, merged)
}

// A run on two devices ends like any other; reports say on how many it was.
func TestDevices(t *testing.T) {
	results := t.TempDir()
	status, stdout, stderr := ebssc("run", "unroll", "--only", "unroll-0", "--profile", "smoke", "--epochs", "1",
		"--backend", "cpu", "--devices", "2", "--data", digits(t), "--results", results)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "on xla-cpu, 2 devices (asked for)")
	trials := table(t, filepath.Join(results, "smoke", "trials.csv"))
	require.Equal(t, "xla-cpu, 2 devices", cell(t, trials, 1, "backend"))
}

// Where the XLA plugin cannot be had, the Go backend computes, and a warning says so. A shard refuses: its records would be of other
// runs than those of the other shards.
func TestShardRefusesAnotherBackend(t *testing.T) {
	t.Setenv("EBSSC_CACHE", t.TempDir())
	t.Setenv("PATH", "") // no pip
	status, _, stderr := ebssc("run", "table", "--profile", "smoke", "--shard", "1/2", "--data", datasettest.CIFAR10(t), "--results", t.TempDir())
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "all shards must compute on the same backend: name it with --backend")
}

// A change to a record is refused by the report, in one line that names the file and the field.
func TestChangedRecordIsRefused(t *testing.T) {
	results := t.TempDir()
	r, err := recordtest.New(t, study.Suite, "relu-lc7", "smoke", 1, experiments.Overrides{}).Write(filepath.Join(results, "smoke", record.Folder))
	require.NoError(t, err)
	status, _, stderr := ebssc("report", "--results", results)
	require.Zero(t, status, stderr)
	before := tables(t, results)
	path := record.Path(filepath.Join(results, "smoke", record.Folder), r.ID)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte(`"TestErr": 3`), []byte(`"TestErr": 1`), 1), 0o644))
	for _, args := range [][]string{{"report", "--results", results}, {"runs", "--profile", "smoke", "--results", results}} {
		status, _, stderr = ebssc(args...)
		require.Equal(t, 1, status)
		require.Equal(t, 1, strings.Count(stderr, "\n"))
		require.Contains(t, stderr, path+" is refused: TestErr: ")
	}
	require.Equal(t, before, tables(t, results))
}

// What went wrong beside an interruption, such as a checkpoint that could not be saved, is not lost.
func TestBesidesInterruption(t *testing.T) {
	full, stop := errors.New("saving a checkpoint: no space left"), interrupted{syscall.SIGTERM}
	loop := fmt.Errorf("step 7: %w", stop)
	require.Empty(t, besidesInterruption(loop))
	require.Equal(t, []error{full}, besidesInterruption(fmt.Errorf("unroll-0: %w", errors.Join(full, context.Canceled))))
	require.Equal(t, []error{full}, besidesInterruption(errors.Join(loop, full)))
}

// The time of a run is estimated from the record that trained for the most similar time; from none if all are far shorter.
func TestCoreSeconds(t *testing.T) {
	run := experiments.Run{TrainImages: 1000, Epochs: 4}
	recorded := func(images, epochs int, seconds float64, cores, day int) record.Record {
		return record.Record{Run: experiments.Run{TrainImages: images, Epochs: epochs}, Seconds: seconds, Origin: record.Origin{Cores: cores},
			Finished: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}
	}
	var (
		half  = recorded(1000, 2, 10, 2, 3)
		first = recorded(1000, 4, 30, 1, 1)
		last  = recorded(1000, 4, 16, 2, 2)
		tiny  = recorded(50, 1, 100, 1, 4)
	)
	network, err := json.Marshal(run.Network)
	require.NoError(t, err)
	for _, c := range []struct {
		records []record.Record
		want    float64
	}{
		{[]record.Record{half, first, last, tiny}, 32},
		{[]record.Record{last, first, half}, 32},
		{[]record.Record{tiny, half}, 40},
		{[]record.Record{tiny}, 0},
	} {
		seconds, ok, err := coreSeconds(run, map[string][]record.Record{string(network): c.records})
		require.NoError(t, err)
		require.Equal(t, c.want > 0, ok)
		require.InDelta(t, c.want, seconds, 1e-9)
	}
}
