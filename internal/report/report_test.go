package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// record writes a finished run as training does.
func record(t *testing.T, results string, row experiments.Experiment, seed int, change func(*train.Result)) {
	result := train.Result{
		Run: experiments.Run{
			Version: experiments.Version, Experiment: row.Name, Profile: "smoke", Network: row.Network(6),
			Settings: declared(t, row), Dataset: "cifar10-jpeg", SHA256: "0123456789abcdef", TrainImages: 100, TestImages: 50,
			Epochs: 3, Seed: seed, Traced: row.Traced, Backend: "xla-cpu",
		},
		Parameters: 1234, TrainErr: 10, TestErr: 20, Seconds: 5, Commit: "abc",
		Finished: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Asked: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	change(&result)
	id, err := result.Run.ID()
	require.NoError(t, err)
	result.ID = id
	folder := filepath.Join(results, "smoke", report.RunsFolder, id)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	text, err := json.Marshal(result)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "result.json"), text, 0o644))
	curve := "epoch,step,batch_loss,batch_err,seconds,train_objective,train_err,test_err\n"
	for epoch := 1; row.Traced && epoch <= result.Run.Epochs; epoch++ {
		// Twice the final figures after the first epoch, and these themselves after the last.
		factor := 2 - float64(epoch-1)/float64(result.Run.Epochs-1)
		curve += fmt.Sprintf("%d,%d,1,50,1.25,%.5f,%.3f,%.3f\n", epoch, 10*epoch, factor*result.TrainObjective, factor*result.TrainErr, factor*result.TestErr)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, train.CurveFile), []byte(curve), 0o644))
}

func unchanged(*train.Result) {}

// declared are the settings that an experiment has at profile smoke.
func declared(t *testing.T, row experiments.Experiment) experiments.Settings {
	profile, err := experiments.FindProfile("smoke")
	require.NoError(t, err)
	study, _, ok := experiments.StudyOf(row.Name)
	require.True(t, ok)
	runs, err := experiments.Plan(row, profile.Name, profile.Scale(study), experiments.Dataset{Train: 5000, Test: 5000}, experiments.Machine{Backend: "xla-cpu"}, nil, 0)
	require.NoError(t, err)
	return runs[0].Settings
}

func read(t *testing.T, elements ...string) string {
	text, err := os.ReadFile(filepath.Join(elements...))
	require.NoError(t, err)
	return string(text)
}

// A line a row: means and deviations over seeds, the paper's numbers and the difference from them.
func TestTable(t *testing.T) {
	results := t.TempDir()
	record(t, results, experiments.Table[0], 1, unchanged)
	record(t, results, experiments.Table[0], 2, func(r *train.Result) { r.TestErr, r.Seconds = 22, 7 })
	record(t, results, experiments.Table[3], 1, unchanged)
	require.NoError(t, report.Write(results, "smoke"))
	require.Equal(t, `experiment,dataset,dataset_sha256,profile,backend,seeds,epochs,train_images,test_images,params,paper_params,train_err,train_err_std,test_err,test_err_std,paper_train_err,paper_test_err,delta_test_err,base,delta_base,delta_base_low,delta_base_high,p_value,seconds,commit
relu-lc7,cifar10-jpeg,0123456789abcdef,smoke,xla-cpu,2,3,100,50,1234,1.3M,10.00,0.00,21.00,1.41,1.20,11.40,9.60,,,,,,12,abc
ssc-lc7,cifar10-jpeg,0123456789abcdef,smoke,xla-cpu,1,3,100,50,1234,2.6M,10.00,,20.00,,0.99,9.77,10.23,,,,,,5,abc
`, read(t, results, "smoke", "table.csv"))
	markdown := read(t, results, "smoke", "table.md")
	require.Contains(t, markdown, "| ReLU+LC₇ | 10.00 ± 0.00 | 21.00 ± 1.41 | – | – | 1234 | 1.20 | 11.40 | 1.3M |")
	require.Contains(t, markdown, "CIFAR-10 (JPEG copy)")
	require.FileExists(t, filepath.Join(results, "smoke", "curves", "relu-lc7-2.csv"))

	before := read(t, results, "smoke", "table.csv")
	require.NoError(t, report.Write(results, "smoke"))
	require.Equal(t, before, read(t, results, "smoke", "table.csv"), "a report changes nothing that is up to date")
}

// What was asked for last counts, whatever else was tried or finished later; a line whose runs are gone stays.
func TestTableKeepsAndReplaces(t *testing.T) {
	results := t.TempDir()
	record(t, results, experiments.Table[0], 1, unchanged)
	record(t, results, experiments.Table[1], 1, unchanged)
	require.NoError(t, report.Write(results, "smoke"))
	require.NoError(t, os.RemoveAll(filepath.Join(results, "smoke", report.RunsFolder)))
	record(t, results, experiments.Table[1], 1, func(r *train.Result) {
		r.Run.Epochs, r.TestErr, r.Asked = 9, 15, r.Asked.Add(time.Hour)
	})
	record(t, results, experiments.Table[1], 1, func(r *train.Result) { r.Finished = r.Finished.Add(2 * time.Hour) })
	require.NoError(t, report.Write(results, "smoke"))
	lines, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	require.Equal(t, "20.00", lines["relu-lc7"]["test_err"])
	require.Equal(t, "15.00", lines["crelu-lc7"]["test_err"])
	require.Equal(t, "9", lines["crelu-lc7"]["epochs"])
}

// MNIST in CIFAR's clothes is not compared with the paper.
func TestOtherImagesAreNotCompared(t *testing.T) {
	results := t.TempDir()
	record(t, results, experiments.Table[0], 1, func(r *train.Result) { r.Run.Dataset = "mnist32" })
	require.NoError(t, report.Write(results, "smoke"))
	lines, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	for _, column := range []string{"paper_params", "paper_train_err", "paper_test_err", "delta_test_err"} {
		require.Empty(t, lines["relu-lc7"][column])
	}
	require.Equal(t, "mnist32", lines["relu-lc7"]["dataset"])
}

// What was measured on held-out images never enters the table.
func TestHeldOutStaysApart(t *testing.T) {
	results := t.TempDir()
	record(t, results, experiments.Table[0], 1, func(r *train.Result) {
		r.Run.HeldOut = 50
		r.Run.Settings = r.Run.Settings.With(experiments.Settings{experiments.ParamLearningRate: 0.5})
	})
	require.NoError(t, report.Write(results, "smoke"))
	require.NoFileExists(t, filepath.Join(results, "smoke", "table.csv"))
	line := "relu-lc7,learning_rate=0.5,cifar10-jpeg,6,100,50,3,1,xla-cpu,10.00,20.00,5,abc\n"
	require.Contains(t, read(t, results, "smoke", "heldout.csv"), line)

	// Another machine's measurement is added to it.
	require.NoError(t, os.RemoveAll(filepath.Join(results, "smoke", report.RunsFolder)))
	record(t, results, experiments.Table[1], 1, func(r *train.Result) { r.Run.HeldOut = 50 })
	require.NoError(t, report.Write(results, "smoke"))
	require.Contains(t, read(t, results, "smoke", "heldout.csv"), line+"crelu-lc7,,")
}

// A changed setting is named in the line, so that it is not taken for the profile's own.
func TestChangedSettingsAreNamed(t *testing.T) {
	results := t.TempDir()
	record(t, results, experiments.Table[3], 1, func(r *train.Result) {
		r.Run.Settings = r.Run.Settings.With(experiments.Settings{"beta": 0.01})
	})
	require.NoError(t, os.WriteFile(filepath.Join(results, "smoke", report.RunsFolder, "stray"), nil, 0o644))
	require.NoError(t, report.Write(results, "smoke"))
	lines, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	require.Equal(t, "smoke+beta=0.01", lines["ssc-lc7"]["profile"])
	require.Contains(t, read(t, results, "smoke", "table.md"), "profile `smoke+beta=0.01`")
}

// A damaged result or table is named, and what was there stays as it is.
func TestDamagedFilesAreNamed(t *testing.T) {
	results := t.TempDir()
	record(t, results, experiments.Table[0], 1, unchanged)
	require.NoError(t, report.Write(results, "smoke"))
	before := read(t, results, "smoke", "table.csv")
	files, err := filepath.Glob(filepath.Join(results, "smoke", report.RunsFolder, "*", "result.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(files[0], []byte("{"), 0o644))
	require.ErrorContains(t, report.Write(results, "smoke"), files[0])
	require.Equal(t, before, read(t, results, "smoke", "table.csv"))
}

// The committed files stay byte for byte what they are when they are written again without runs.
func TestCommittedFilesStay(t *testing.T) {
	committed, results := filepath.Join("..", "..", "results"), t.TempDir()
	files, err := filepath.Glob(filepath.Join(committed, "quick", "*.*"))
	require.NoError(t, err)
	for _, folder := range []string{"curves", "figures"} {
		require.NoError(t, os.CopyFS(filepath.Join(results, "quick", folder), os.DirFS(filepath.Join(committed, "quick", folder))))
	}
	for _, file := range files {
		require.NoError(t, os.WriteFile(filepath.Join(results, "quick", filepath.Base(file)), []byte(read(t, file)), 0o644))
	}
	require.NoError(t, report.Write(results, "quick"))
	require.NoError(t, report.WritePage(results, "quick"))
	for _, file := range files {
		require.True(t, read(t, file) == read(t, results, "quick", filepath.Base(file)), "%s: run ebssc report", file)
	}
	// A new measurement on held-out images is a line at the end.
	record(t, results, experiments.Table[0], 1, func(r *train.Result) { r.Run.HeldOut = 50 })
	require.NoError(t, os.RemoveAll(filepath.Join(results, "quick", report.RunsFolder))) // the lock of the reports
	require.NoError(t, os.Rename(filepath.Join(results, "smoke", report.RunsFolder), filepath.Join(results, "quick", report.RunsFolder)))
	require.NoError(t, report.Write(results, "quick"))
	require.True(t, strings.HasPrefix(read(t, results, "quick", "heldout.csv"), read(t, committed, "quick", "heldout.csv")+"relu-lc7,"))
}

// The README opens with the ledger as it is.
func TestREADMEShowsTheLedger(t *testing.T) {
	ledger, _, ok := strings.Cut(read(t, "..", "..", "results", "quick", report.ClaimsFile), "\n## ")
	require.True(t, ok)
	_, ledger, ok = strings.Cut(ledger, "\n\n")
	require.True(t, ok)
	require.True(t, strings.Contains(read(t, "..", "..", "README.md"), "\n\n"+strings.TrimSpace(ledger)+"\n\n"),
		"copy the table from results/quick/claims.md to README.md")
}

// results/paper.csv in the repository is what the declarations say.
func TestPaperCSVIsUpToDate(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, report.WritePaper(folder))
	require.Equal(t, read(t, folder, "paper.csv"), read(t, "..", "..", "results", "paper.csv"), "run: ebssc report")
}
