package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// recordSweeps writes a finished run on MNIST that predicts these classes of ten images, all of them ones.
func recordSweeps(t *testing.T, results string, sweeps, seed int, predictions string, change func(*train.Result)) {
	record(t, results, experiments.Unroll[sweeps], seed, func(r *train.Result) {
		r.Run.Dataset, r.Run.TestImages = "mnist", 10
		r.Predictions, r.Labels = predictions, strings.Repeat("1", 10)
		r.TestErr = 100 * float64(10-strings.Count(predictions, "1")) / 10
		r.TrainErr, r.TrainObjective = 0.5, 0.25
		change(r)
	})
}

const summaryHeading = "sweeps,dataset,dataset_sha256,profile,backend,seeds,epochs,train_images,test_images,alpha,train_objective,train_objective_std,train_err,train_err_std," +
	"test_err,test_err_std,paper_test_err,fixed,broken,p_value,verdict,seconds,commit\n"

// A line a number of sweeps, with the paired test against one sweep less; the learning curves of all seeds.
func TestSweeps(t *testing.T) {
	results := t.TempDir()
	recordSweeps(t, results, 0, 1, "0000000111", unchanged)
	recordSweeps(t, results, 0, 2, "0000000001", func(r *train.Result) { r.TrainObjective, r.Seconds = 0.5, 7 })
	recordSweeps(t, results, 1, 1, "1111110111", unchanged)
	recordSweeps(t, results, 1, 2, "1111111110", unchanged)
	recordSweeps(t, results, 3, 1, "1111111111", unchanged)
	require.NoError(t, report.Write(results, "smoke"))
	require.Equal(t, summaryHeading+
		`0,mnist,0123456789abcdef,smoke,xla-cpu,2,3,100,10,0,0.37500,0.17678,0.00500,0.00000,0.80000,0.14142,0.0131,,,,,12,abc
1,mnist,0123456789abcdef,smoke,xla-cpu,2,3,100,10,0,0.25000,0.00000,0.00500,0.00000,0.10000,0.00000,0.0074,9,1,0.0215,lower,10,abc
3,mnist,0123456789abcdef,smoke,xla-cpu,1,3,100,10,0,0.25000,,0.00500,,0.00000,,,,,,,5,abc
`, read(t, results, "smoke", "unroll_summary.csv"))
	require.True(t, strings.HasPrefix(read(t, results, "smoke", "unroll.csv"), `sweeps,seed,epoch,train_objective,train_err,test_err,seconds
0,1,1,0.50000,0.01000,1.40000,1.25
0,1,2,0.37500,0.00750,1.05000,1.25
0,1,3,0.25000,0.00500,0.70000,1.25
0,2,1,1.00000,0.01000,1.80000,1.25
`), read(t, results, "smoke", "unroll.csv"))

	unroll, _, ok := experiments.StudyOf(experiments.Unroll[0].Name)
	require.True(t, ok)
	require.Equal(t, "unroll.md", report.Summary(unroll))
	markdown := read(t, results, "smoke", "unroll.md")
	require.Contains(t, markdown, "| T = 1 | 0.25000 ± 0.00000 | 0.00500 ± 0.00000 | 0.10000 ± 0.00000 | 0.0074 | 9 | 1 | 0.0215 | lower |")
	require.Contains(t, markdown, "| T = 3 | 0.25000 | 0.00500 | 0.00000 | – | – | – | – | – |")
	require.Contains(t, markdown, "MNIST (SHA-256 0123456789ab…), profile `smoke`, 3 epochs, 2 seed(s), backend xla-cpu, commit abc: T = 0 in 12 s, T = 1 in 10 s.")
	require.Contains(t, markdown, "α = 0;")
	for _, figure := range []string{"unroll_objective", "unroll_test_error"} {
		require.Contains(t, markdown, "(figures/"+figure+".svg)")
		svg := read(t, results, "smoke", "figures", figure+".svg")
		for _, text := range []string{"T = 0", "T = 1", "T = 3", "MNIST, profile smoke", ">epoch<"} {
			require.Contains(t, svg, text)
		}
		require.NotContains(t, svg, "T = 2")
		require.FileExists(t, filepath.Join(results, "smoke", "figures", figure+".png"))
	}
	for _, nothing := range []string{"table.csv", "table.md", "unroll-both.csv", "unroll-both.md", "heldout.csv"} {
		require.NoFileExists(t, filepath.Join(results, "smoke", nothing))
	}

	before := snapshot(t, results)
	require.NoError(t, report.Write(results, "smoke"))
	require.Equal(t, before, snapshot(t, results), "a report changes nothing that is up to date")
	require.NoError(t, os.RemoveAll(filepath.Join(results, "smoke", report.RunsFolder)))
	require.NoError(t, report.Write(results, "smoke"))
	require.Equal(t, before, snapshot(t, results), "nor where no runs are recorded")
}

// snapshot is the text of all reports.
func snapshot(t *testing.T, results string) map[string]string {
	files, err := filepath.Glob(filepath.Join(results, "smoke", "*.*"))
	require.NoError(t, err)
	figures, err := filepath.Glob(filepath.Join(results, "smoke", "figures", "*"))
	require.NoError(t, err)
	require.Len(t, append(files, figures...), 3+2+4) // with the ledger
	all := map[string]string{}
	for _, file := range append(files, figures...) {
		all[file] = read(t, file)
	}
	return all
}

// pairedTest is what the summary says of the paired test of so many sweeps.
func pairedTest(t *testing.T, results, sweeps string) string {
	for line := range strings.Lines(read(t, results, "smoke", "unroll_summary.csv")) {
		if fields := strings.Split(strings.TrimSpace(line), ","); fields[0] == sweeps {
			return strings.Join(fields[17:21], " ")
		}
	}
	t.Fatalf("no line of %s sweeps", sweeps)
	return ""
}

// A paired test stays only as long as both of its sides: a line that stays says nothing of one that was replaced.
func TestSweepsKeepAndReplace(t *testing.T) {
	results := t.TempDir()
	for sweeps, predictions := range []string{"0000000001", "1111111101", "1111000001"} {
		recordSweeps(t, results, sweeps, 1, predictions, unchanged)
	}
	require.NoError(t, report.Write(results, "smoke"))
	require.Equal(t, "8 0 0.00781 lower", pairedTest(t, results, "1"))
	require.Equal(t, "0 4 0.125 undecided", pairedTest(t, results, "2"))

	// Only T = 0 is recorded here, as it was: all stays.
	require.NoError(t, os.RemoveAll(filepath.Join(results, "smoke", report.RunsFolder)))
	recordSweeps(t, results, 0, 1, "0000000001", unchanged)
	require.NoError(t, report.Write(results, "smoke"))
	require.Equal(t, "8 0 0.00781 lower", pairedTest(t, results, "1"))

	// It is trained again: T = 1 was compared with something else, T = 2 was not.
	require.NoError(t, os.RemoveAll(filepath.Join(results, "smoke", report.RunsFolder)))
	recordSweeps(t, results, 0, 1, "0000000011", unchanged)
	require.NoError(t, report.Write(results, "smoke"))
	require.Equal(t, "   ", pairedTest(t, results, "1"))
	require.Equal(t, "0 4 0.125 undecided", pairedTest(t, results, "2"))
	require.Contains(t, read(t, results, "smoke", "unroll.csv"), "\n2,1,3,0.25000,0.00500,0.50000,1.25\n")
	require.Contains(t, read(t, results, "smoke", "unroll.csv"), "\n0,1,3,0.25000,0.00500,0.80000,1.25\n")
}

// Runs that differ in more than the sweeps are not compared, nor with the paper if they are of other images.
func TestSweepsCompareLikeWithLike(t *testing.T) {
	for name, change := range map[string]func(*train.Result){
		"epochs":   func(r *train.Result) { r.Run.Epochs++ },
		"seed":     func(r *train.Result) { r.Run.Seed++ },
		"settings": func(r *train.Result) { r.Run.Settings = r.Run.Settings.With(experiments.Settings{"beta": 0.01}) },
		"labels":   func(r *train.Result) { r.Labels = strings.Repeat("2", 10) },
		"images":   func(r *train.Result) { r.Run.Dataset = "mnist-unknown" },
	} {
		t.Run(name, func(t *testing.T) {
			results := t.TempDir()
			recordSweeps(t, results, 0, 1, "0000000001", unchanged)
			recordSweeps(t, results, 1, 1, "1111111111", change)
			require.NoError(t, report.Write(results, "smoke"))
			require.Equal(t, "   ", pairedTest(t, results, "1"))
			lines := read(t, results, "smoke", "unroll_summary.csv")
			require.Equal(t, name == "images", !strings.Contains(lines, "0.0074"))
			if name == "settings" {
				require.Contains(t, lines, ",smoke+beta=0.01,")
			}
		})
	}
}

// What was measured on held-out images never enters the study; runs without a traced curve are named.
func TestSweepsOfHeldOutAndUntraced(t *testing.T) {
	results := t.TempDir()
	recordSweeps(t, results, 0, 1, "0000000001", func(r *train.Result) { r.Run.HeldOut = 10 })
	require.NoError(t, report.Write(results, "smoke"))
	require.NoFileExists(t, filepath.Join(results, "smoke", "unroll_summary.csv"))
	require.Contains(t, read(t, results, "smoke", "heldout.csv"), "\nunroll-0,")

	recordSweeps(t, results, 0, 1, "0000000001", unchanged)
	curves, err := filepath.Glob(filepath.Join(results, "smoke", report.RunsFolder, "*", train.CurveFile))
	require.NoError(t, err)
	require.Len(t, curves, 2)
	for _, curve := range curves {
		require.NoError(t, os.WriteFile(curve, []byte("epoch,step,batch_loss,batch_err,seconds,train_objective,train_err,test_err\n1,10,1,50,1.25,,,\n"), 0o644))
	}
	require.ErrorContains(t, report.Write(results, "smoke"), "was not measured after epoch 1")
	require.NoFileExists(t, filepath.Join(results, "smoke", "unroll.csv"))
}
