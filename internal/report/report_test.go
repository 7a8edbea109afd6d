package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"ebsscgo/ablations"
	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// suite holds all declared studies.
var suite = slices.Concat(experiments.Studies, ablations.Studies)

// change is something that a test changes in a made record.
type change = func(*record.Record)

// add records a made run at profile smoke.
func add(t *testing.T, results, experiment string, seed int, changes ...change) record.Record {
	return addTrial(t, results, experiment, seed, experiments.Overrides{}, changes...)
}

// addTrial records a made run that differs from profile smoke.
func addTrial(t *testing.T, results, experiment string, seed int, overrides experiments.Overrides, changes ...change) record.Record {
	r := recordtest.New(t, suite, experiment, "smoke", seed, overrides)
	for _, change := range changes {
		change(&r)
	}
	r, err := r.Write(filepath.Join(results, r.Run.Profile, record.Folder))
	require.NoError(t, err)
	return r
}

// wrong makes a run err on the last so many of 1,000 test images.
func wrong(count int) change {
	return func(r *record.Record) {
		r.Run.Dataset.Test, r.Run.TestImages, r.Labels = 1000, 1000, strings.Repeat("1", 1000)
		r.Predictions = strings.Repeat("1", 1000-count) + strings.Repeat("0", count)
		r.TestErr = record.ErrorRate(r.Predictions, r.Labels)
		r.TrainErr = r.TestErr
		if last := r.Curve[len(r.Curve)-1].Trace; last != nil {
			last.TestErr = r.TestErr
		}
	}
}

// images makes a run one of another data set.
func images(name string) change {
	return func(r *record.Record) { r.Run.Dataset.Name, r.Run.Dataset.SHA256 = name, name+"-0123456789" }
}

// epochs makes a run a trial.
func epochs(t *testing.T, count int) change {
	return func(r *record.Record) {
		made := recordtest.New(t, suite, r.Run.Experiment, "smoke", r.Run.Seed, experiments.Overrides{Epochs: count})
		r.Run.Epochs, r.Curve = count, made.Curve
	}
}

// decodings adds measurements of seven blocks, in which each block's difference is that of the one below plus a step. Cosines fall with
// the seed.
func decodings(step float64, figures ...record.Figure) change {
	return func(r *record.Record) {
		d := record.Decodings{Images: 1000, Seconds: 3, Figures: figures}
		for i := range 7 {
			f := decode.Fidelity{Block: "conv" + string(rune('1'+i)), Cosine: 0.9 - 0.1*float64(i) - 0.02*float64(r.Run.Seed-1), CosineStd: 0.05, Error: 0.4,
				Difference: new(0.01 + step*float64(i)), DifferenceStd: new(0.005), InkShare: new(0.5), InkArea: new(0.2)}
			if r.Run.Network.Channels > 1 {
				f.InkShare, f.InkArea = nil, nil
			}
			d.Trained = append(d.Trained, f)
			f.Cosine = 0.3
			d.Untrained = append(d.Untrained, f)
		}
		r.Decodings = &d
	}
}

// write writes the reports of profile smoke.
func write(t *testing.T, results string) *report.Profile {
	p, err := report.Write(t.Context(), results, "smoke", suite)
	require.NoError(t, err)
	return p
}

// read is the text of a file in the folder of profile smoke.
func read(t *testing.T, results string, name string) string { return readAt(t, results, "smoke", name) }

// readAt is the text of a file in the folder of a profile.
func readAt(t *testing.T, results, profile, name string) string {
	text, err := os.ReadFile(filepath.Join(results, profile, name))
	require.NoError(t, err)
	return string(text)
}

// files are the contents of all files in a folder, but for records and locks.
func files(t *testing.T, folder string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == record.Folder {
			return fs.SkipDir
		}
		if err == nil && !entry.IsDir() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			name, err := filepath.Rel(folder, path)
			require.NoError(t, err)
			all[name] = string(text)
		}
		return err
	}))
	return all
}

// Reports of all studies follow from the records alone: the same records, copied in another order to another folder, give the same bytes.
func TestReportsFollowFromRecords(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, e := range suite.Experiments() {
		study, _, err := suite.Experiment(e.Name)
		require.NoError(t, err)
		for seed := 1; seed <= 2; seed++ {
			add(t, first, e.Name, seed, func(r *record.Record) {
				if study.Report == experiments.Decodings {
					decodings(0.01)(r)
				}
			})
		}
	}
	add(t, first, "relu-lc7", 1, epochs(t, 3))
	add(t, first, "relu-lc7", 1, images("mnist32"))
	records, err := os.ReadDir(filepath.Join(first, "smoke", record.Folder))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(second, "smoke", record.Folder), 0o755))
	for _, entry := range slices.Backward(records) {
		name := filepath.Join("smoke", record.Folder, entry.Name())
		require.NoError(t, os.Link(filepath.Join(first, name), filepath.Join(second, name)))
	}
	require.Empty(t, write(t, first).Missing())
	written := files(t, filepath.Join(first, "smoke"))
	for _, name := range []string{"table.csv", "table.md", "ablations.md", "unroll.csv", "unroll_summary.csv", "unroll-both.md", "decoding.csv", "decoding.md",
		"residuals.md", "claims.csv", "claims.md", "trials.csv", "report.html", "curves/relu-lc7-2.csv", "figures/shrinkage.svg", "figures/unroll_train_loss.png"} {
		require.Contains(t, written, name)
	}
	stamp := time.Unix(0, 0)
	require.NoError(t, os.Chtimes(filepath.Join(first, "smoke", "table.csv"), stamp, stamp))
	write(t, first)
	write(t, second)
	for name, text := range files(t, filepath.Join(second, "smoke")) {
		require.True(t, written[name] == text, "%s differs", name)
		delete(written, name)
	}
	require.Empty(t, written)
	info, err := os.Stat(filepath.Join(first, "smoke", "table.csv"))
	require.NoError(t, err)
	require.Equal(t, stamp, info.ModTime(), "a file that is up to date is not written again")
}

// exists says whether there is a file or folder.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// The committed reports are what their records give, byte for byte, and there are no others.
func TestCommittedReports(t *testing.T) {
	committed, results := filepath.Join("..", "..", "results"), t.TempDir()
	var recorded []string
	for _, profile := range experiments.Profiles {
		p, err := report.Load(committed, profile.Name, suite)
		require.NoError(t, err)
		if len(p.Records) == 0 {
			continue
		}
		recorded = append(recorded, profile.Name)
		copied := func(elements ...string) {
			text, err := os.ReadFile(filepath.Join(append([]string{committed, profile.Name}, elements...)...))
			require.NoError(t, err)
			to := filepath.Join(append([]string{results, profile.Name}, elements...)...)
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
			require.NoError(t, os.WriteFile(to, text, 0o644))
		}
		for _, r := range p.Records {
			copied(record.Folder, r.ID+".json")
			if network := train.NetworkFile("", r.ID); exists(filepath.Join(committed, profile.Name, network)) {
				copied(network)
			}
			if r.Decodings != nil {
				for _, figure := range r.Decodings.Figures {
					copied("figures", figure.File)
				}
			}
		}
	}
	_, err := report.WriteAll(t.Context(), results, suite)
	require.NoError(t, err)
	for _, profile := range recorded {
		written := files(t, filepath.Join(results, profile))
		for name, text := range files(t, filepath.Join(committed, profile)) {
			require.Contains(t, slices.Collect(maps.Keys(written)), name, "no record gives this file: remove it")
			require.True(t, written[name] == text, "results/%s/%s is not what the records give: run ebssc report", profile, name)
			delete(written, name)
		}
		require.Empty(t, written, "run ebssc report")
	}
	for _, name := range []string{"paper.csv", "errors.csv", "errors.svg", "errors.png"} {
		written, err := os.ReadFile(filepath.Join(results, name))
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(committed, name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(written, text), "results/%s is not what the records give: run ebssc report", name)
	}
}

// A line a row: means and deviations over seeds, the paper's numbers and the difference from them; the base that is missing is named.
func TestTable(t *testing.T) {
	results := t.TempDir()
	add(t, results, "relu-lc7", 1, wrong(200), images("cifar10-jpeg"))
	add(t, results, "relu-lc7", 2, wrong(220), images("cifar10-jpeg"), func(r *record.Record) { r.Seconds = 7 })
	add(t, results, "ssc-lc7", 1, wrong(200), images("cifar10-jpeg"))
	add(t, results, "ssc-ebc67", 1, wrong(180), images("cifar10-jpeg"))
	p := write(t, results)
	require.Equal(t, `experiment,dataset,dataset_sha256,profile,backend,seeds,epochs,train_images,test_images,params,paper_params,train_err,train_err_std,test_err,test_err_std,test_err_low,test_err_high,paper_within,paper_train_err,paper_test_err,minus_paper,base,delta_base,delta_base_low,delta_base_high,delta_method,mcnemar_p,seconds,cpu,commit
relu-lc7,cifar10-jpeg,cifar10-jpeg-0123456789,smoke,xla-cpu,2,4,1000,1000,2460,1.3M,21.00,1.41,21.00,1.41,8.29,33.71,yes,1.20,11.40,9.60,,,,,,,10,made (2 cores),0123456789ab
ssc-lc7,cifar10-jpeg,cifar10-jpeg-0123456789,smoke,xla-cpu,1,4,1000,1000,4771,2.6M,20.00,,20.00,,17.64,22.59,no,0.99,9.77,10.23,,,,,,,12,made (2 cores),0123456789ab
ssc-ebc67,cifar10-jpeg,cifar10-jpeg-0123456789,smoke,xla-cpu,1,4,1000,1000,30849,3.2M,18.00,,18.00,,15.74,20.50,no,0.21,9.23,8.77,ssc-lc7,-2.00,-2.91,-1.09,"Bonett-Price, 1000 images",1.91e-06,12,made (2 cores),0123456789ab
`, read(t, results, "table.csv"))
	markdown := read(t, results, "table.md")
	for _, text := range []string{
		"| ReLU+LC₇ | 21.00 ± 1.41 | 21.00 ± 1.41 | – | – | 2460 | 1.20 | 11.40 | 1.3M |",
		"| CReLU(SN)+LC₇: base not trained: `ebssc run table --only crelu-sn-lc7 --profile smoke --backend cpu` | – |",
		"| SSC+LC₇ | −2.00 (−2.91 to −1.09) |",
		"CIFAR-10 (JPEG copy) (SHA-256 cifar10-jpeg…), profile `smoke`, 4 epochs of 1000 images, 2 seeds, backend xla-cpu on made (2 cores), commit 0123456789ab: ReLU+LC₇ in 10 s a run.",
		" 1 seed,", "figures/table_curves.svg", "figures/table_differences.svg",
	} {
		require.Contains(t, markdown, text)
	}
	require.Contains(t, read(t, results, "curves/relu-lc7-2.csv"), "epoch,step,batch_loss,batch_err,seconds\n1,31,2.00000,80.000,3.00\n")
	require.Equal(t, []string{
		"crelu-lc7, seed 1: ebssc run table --only crelu-lc7 --profile smoke --backend cpu",
		"crelu-sn-lc7, seed 1: ebssc run table --only crelu-sn-lc7 --profile smoke --backend cpu",
	}, []string{p.Missing()[0].String(), p.Missing()[1].String()})
	require.Len(t, p.Missing(), 2)
}

// Runs of several data sets and machines stand in blocks of their own, in an order that does not depend on files, and are never compared
// with one another. Digits in CIFAR-10's place are not compared with the paper.
func TestSettings(t *testing.T) {
	results := t.TempDir()
	goBackend := func(r *record.Record) {
		r.Run.Machine.Backend = "go"
		r.Run.Settings = r.Run.Settings.With(experiments.Settings{ebssc.ParamPlainOps: true})
	}
	add(t, results, "relu-lc7", 1, wrong(300), images("mnist32"))
	add(t, results, "crelu-lc7", 1, wrong(200), images("cifar10-unknown"))
	add(t, results, "relu-lc7", 1, wrong(300), images("cifar10"), goBackend)
	add(t, results, "relu-lc7", 1, wrong(310), images("cifar10-jpeg"))
	add(t, results, "relu-lc7", 1, wrong(320), images("cifar10"))
	add(t, results, "crelu-lc7", 1, wrong(120), images("cifar10"))
	p := write(t, results)
	lines := strings.Split(strings.TrimSpace(read(t, results, "table.csv")), "\n")[1:]
	var order []string
	for _, line := range lines {
		fields := strings.Split(line, ",")
		order = append(order, strings.Join([]string{fields[0], fields[1], fields[4], fields[22]}, " "))
	}
	require.Equal(t, []string{"relu-lc7 cifar10 xla-cpu ", "crelu-lc7 cifar10 xla-cpu -20.00", "relu-lc7 cifar10 go ", "relu-lc7 cifar10-jpeg xla-cpu ",
		"crelu-lc7 cifar10-unknown xla-cpu ", "relu-lc7 mnist32 xla-cpu "}, order)
	require.NotContains(t, lines[5], "11.40")
	require.Contains(t, read(t, results, "table.md"), "\n## CIFAR-10 (SHA-256 cifar10-0123…), backend go\n")
	require.InDelta(t, 32, p.Group("relu-lc7")[0].TestErr, 1e-9)
	require.Contains(t, read(t, results, "claims.csv"), "crelu,test error,crelu-lc7,relu-lc7,,-1,-1.23,-20.000000,")

	// Alike in rank: more runs, then the later, then the name.
	results = t.TempDir()
	add(t, results, "relu-lc7", 1, images("b"))
	add(t, results, "relu-lc7", 1, images("a"))
	later := func(r *record.Record) { r.Finished = r.Finished.Add(time.Second) }
	first := func() string { return write(t, results).Settings("table")[0].Dataset.Name }
	require.Equal(t, "a", first())
	add(t, results, "relu-lc7", 1, images("c"), later)
	require.Equal(t, "c", first())
	add(t, results, "relu-lc7", 2, images("b"))
	require.Equal(t, "b", first())
}

// Trials never take the place of the profile's own runs, whenever they finished. They are listed.
func TestTrials(t *testing.T) {
	results := t.TempDir()
	heldOut := func(r *record.Record) {
		*r = recordtest.New(t, suite, "relu-lc7", "smoke", 1, experiments.Overrides{HeldOut: 100, Settings: experiments.Settings{experiments.ParamLearningRate: 0.5}})
		r.Seconds = 20
	}
	add(t, results, "relu-lc7", 1, epochs(t, 9), func(r *record.Record) { r.Finished = r.Finished.Add(time.Hour) })
	add(t, results, "relu-lc7", 1, heldOut)
	p := write(t, results)
	for _, nothing := range []string{"table.csv", "table.md", "claims.csv", "report.html"} {
		require.NoFileExists(t, filepath.Join(results, "smoke", nothing))
	}
	require.Empty(t, p.Missing(), "no study has been begun")
	own := add(t, results, "relu-lc7", 1)
	add(t, results, "relu-lc7", 2, func(r *record.Record) { r.Seconds = 24 })
	p = write(t, results)
	require.Contains(t, read(t, results, "table.csv"), ",2,4,1000,200,")
	require.Equal(t, own.ID, p.Group("relu-lc7")[0].ID)
	trials := strings.Split(strings.TrimSpace(read(t, results, "trials.csv")), "\n")
	require.Len(t, trials, 3)
	require.Equal(t, "experiment,id,differs,dataset,dataset_sha256,backend,epochs,train_err,test_err,heldout_err,seeds,seconds,cpu,commit,command", trials[0])
	require.Regexp(t, `^relu-lc7,relu-lc7-1-[0-9a-f]{10},epochs=9,cifar10-made,`, trials[1])
	require.Contains(t, trials[1], `,xla-cpu,9,25.00,`)
	require.Regexp(t, `^relu-lc7,relu-lc7-1-[0-9a-f]{10},"held_out=100, learning_rate=0.5",cifar10-made,`, trials[2])
	require.Contains(t, trials[2], `,4,25.00,,3`)
	require.True(t, strings.HasSuffix(trials[2], `,"ebssc run table --only relu-lc7 --profile smoke --held-out 100 --set ""learning_rate=0.5"" --backend cpu"`), trials[2])
	text := p.RunsText()
	require.Regexp(t, `^EXPERIMENT +ID \(FIRST SEED\) +DIFFERS +DATA SET +BACKEND +EPOCHS +TRAIN ERR. % +TEST ERR. % +HELD-OUT ERR. % +SEEDS +SECONDS +COMMIT +COMMAND\n`, text)
	require.Regexp(t, `\nrelu-lc7 +relu-lc7-1-[0-9a-f]{10} +– +cifar10-made +xla-cpu +4 +25\.00 +\d+\.\d\d +– +2 +18 +0123456789ab +ebssc run table --only relu-lc7 --profile smoke --seeds 2 --backend cpu\n`, text)
}

// Held-out runs that differ in one setting alone make a scan, from three values on.
func TestScans(t *testing.T) {
	results := t.TempDir()
	trial := func(experiment string, seed, width int, settings experiments.Settings) {
		add(t, results, experiment, seed, func(r *record.Record) {
			*r = recordtest.New(t, suite, experiment, "smoke", seed, experiments.Overrides{HeldOut: 100, Width: width, Settings: settings})
		})
	}
	for _, rate := range []float64{0.005, 0.01, 0.02} {
		for _, width := range []int{2, 4} {
			trial("relu-lc7", 1, width, experiments.Settings{experiments.ParamMuonRate: rate})
		}
		trial("relu-lc7", 2, 2, experiments.Settings{experiments.ParamMuonRate: rate})
		trial("ssc-lc7", 1, 3, experiments.Settings{experiments.ParamMuonRate: rate, experiments.ParamMuonDecay: 0.0})
	}
	trial("relu-lc7", 1, 2, experiments.Settings{experiments.ParamWarmUp: 0.2})
	for _, alpha := range []float64{0, 1e-5, 1e-4} { // a setting that is not one of the grid's
		trial("unroll-0", 1, 2, experiments.Settings{ebssc.ParamAlpha: alpha})
	}
	write(t, results)
	lines := strings.Split(strings.TrimSpace(read(t, results, "scans.csv")), "\n")
	require.Len(t, lines, 1+3+9)
	require.Equal(t, "setting,experiment,width,value,differs,train_err,train_err_std,heldout_err,heldout_err_std,dataset,dataset_sha256,profile,backend,seeds,"+
		"epochs,train_images,test_images,seconds,cpu,commit", lines[0])
	for _, line := range lines[1:4] {
		require.Regexp(t, `^alpha,unroll-0,2,`, line)
	}
	for i, curve := range []string{`relu-lc7,2,0\.\d+,,.*,xla-cpu,2,`, `relu-lc7,4,0\.\d+,,.*,xla-cpu,1,`, `ssc-lc7,3,0\.\d+,muon_decay=0,.*,xla-cpu,1,`} {
		for _, line := range lines[4+3*i : 7+3*i] {
			require.Regexp(t, `^muon_rate,`+curve, line)
		}
	}
	require.FileExists(t, filepath.Join(results, "smoke", "figures", "scan_muon_rate.svg"))
	require.NoFileExists(t, filepath.Join(results, "smoke", "figures", "scan_warm_up.svg"))
	removeRecords(t, results, "smoke")
	write(t, results)
	require.NoFileExists(t, filepath.Join(results, "smoke", "figures", "scan_muon_rate.svg"))
	require.NoFileExists(t, filepath.Join(results, "smoke", "scans.csv"))
}

// A record in another profile's folder and a damaged one are refused in one line that names the file, and reports stay as they are.
func TestRefusedRecords(t *testing.T) {
	results := t.TempDir()
	own := add(t, results, "relu-lc7", 1)
	write(t, results)
	before := files(t, filepath.Join(results, "smoke"))
	folder := filepath.Join(results, "smoke", record.Folder)
	other, err := recordtest.New(t, suite, "crelu-lc7", "quick", 1, experiments.Overrides{}).Write(folder)
	require.NoError(t, err)
	refused := func(path, says string) {
		_, err := report.Write(t.Context(), results, "smoke", suite)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "\n")
		require.Equal(t, before, files(t, filepath.Join(results, "smoke")))
	}
	refused(record.Path(folder, other.ID), "is of profile quick")
	require.NoError(t, os.Remove(record.Path(folder, other.ID)))
	require.NoError(t, os.WriteFile(record.Path(folder, own.ID), []byte("{"), 0o644))
	refused(record.Path(folder, own.ID), "is refused")
	_, err = report.Write(t.Context(), results, "smaller", suite)
	require.ErrorContains(t, err, `unknown profile "smaller"`)
}

// Reports that no record supports any more are removed, and nothing else is.
func TestStaleReportsAreRemoved(t *testing.T) {
	results := t.TempDir()
	r := add(t, results, "relu-lc7", 1)
	write(t, results)
	require.FileExists(t, filepath.Join(results, "smoke", "curves", "relu-lc7-1.csv"))
	for _, name := range []string{"notes.md", "figures/mine.svg", "curves/mine-1.csv", "curves/relu-lc7-x.csv"} {
		require.NoError(t, os.WriteFile(filepath.Join(results, "smoke", name), nil, 0o644))
	}
	sweeps := add(t, results, "unroll-0", 1)
	write(t, results)
	require.FileExists(t, filepath.Join(results, "smoke", "figures", "unroll_train_loss.svg"))
	for _, id := range []string{r.ID, sweeps.ID} {
		require.NoError(t, os.Remove(record.Path(filepath.Join(results, "smoke", record.Folder), id)))
	}
	write(t, results)
	require.Equal(t, map[string]string{"notes.md": "", "figures/mine.svg": "", "curves/mine-1.csv": "", "curves/relu-lc7-x.csv": ""},
		files(t, filepath.Join(results, "smoke")))
	p, err := report.Write(t.Context(), results, "quick", suite)
	require.NoError(t, err)
	require.Empty(t, p.Records)
	require.NoDirExists(t, filepath.Join(results, "quick"), "a profile without records has no folder")
}

// Reports wait while another process writes those of the same folder, and then rest on its records, too.
func TestWriteWaits(t *testing.T) {
	results := t.TempDir()
	add(t, results, "relu-lc7", 1)
	other := flock.New(filepath.Join(results, "smoke", record.Folder, "report.lock"))
	require.NoError(t, other.Lock())
	done := make(chan error)
	go func() {
		_, err := report.Write(t.Context(), results, "smoke", suite)
		done <- err
	}()
	select {
	case <-done:
		t.Fatal("it did not wait")
	case <-time.After(200 * time.Millisecond):
	}
	add(t, results, "crelu-lc7", 1)
	require.NoError(t, other.Unlock())
	require.NoError(t, <-done)
	require.Contains(t, read(t, results, "table.csv"), "\ncrelu-lc7,")
}

// sweeps makes a run on MNIST that predicts these classes of ten images, all of them ones.
func sweeps(predictions string) change {
	return func(r *record.Record) {
		images("mnist")(r)
		r.Run.Dataset.Test, r.Run.TestImages = 10, 10
		r.Predictions, r.Labels = predictions, strings.Repeat("1", 10)
		r.TestErr = record.ErrorRate(r.Predictions, r.Labels)
		r.Curve[len(r.Curve)-1].Trace.TestErr = r.TestErr
	}
}

// A line a number of sweeps, with the paired test against one sweep less; the learning curves of all seeds; all errors in percent.
func TestSweeps(t *testing.T) {
	results := t.TempDir()
	add(t, results, "unroll-0", 1, sweeps("0000000111"))
	add(t, results, "unroll-0", 2, sweeps("0000000001"), func(r *record.Record) { r.TrainObjective, r.Seconds = 0.5, 7 })
	add(t, results, "unroll-1", 1, sweeps("1111110111"))
	add(t, results, "unroll-1", 2, sweeps("1111111110"))
	add(t, results, "unroll-3", 1, sweeps("1111111111"))
	write(t, results)
	require.Equal(t, `sweeps,dataset,dataset_sha256,profile,backend,seeds,epochs,train_images,test_images,alpha,train_loss,train_loss_std,train_err,train_err_std,test_err,test_err_std,paper_test_err,fixed,broken,mcnemar_p,delta_base,delta_base_low,delta_base_high,delta_method,chosen,seconds,cpu,commit
0,mnist,mnist-0123456789,smoke,xla-cpu,2,2,1000,10,0.0001,0.37500,0.17678,25.00,0.00,80.00,14.14,1.31,,,,,,,,alpha=0.0001;energy_scale=100;learning_rate=0.01,10,made (2 cores),0123456789ab
1,mnist,mnist-0123456789,smoke,xla-cpu,2,2,1000,10,0.0001,0.50000,0.00000,25.00,0.00,10.00,0.00,0.74,9,1,0.0215,-70.00,-197.06,57.06,"Welch, 2 seeds",alpha=0.0001;energy_scale=3;learning_rate=0.01,12,made (2 cores),0123456789ab
3,mnist,mnist-0123456789,smoke,xla-cpu,1,2,1000,10,0,0.50000,,25.00,,0.00,,,,,,,,,,energy_scale=30;learning_rate=0.003,12,made (2 cores),0123456789ab
`, read(t, results, "unroll_summary.csv"))
	require.True(t, strings.HasPrefix(read(t, results, "unroll.csv"), `sweeps,dataset,dataset_sha256,backend,seed,epoch,train_loss,train_err,test_err,seconds
0,mnist,mnist-0123456789,xla-cpu,1,1,0.80000,40.00,`), read(t, results, "unroll.csv"))
	require.Contains(t, read(t, results, "unroll.csv"), "\n0,mnist,mnist-0123456789,xla-cpu,2,2,0.40000,20.00,90.00,3.00\n")
	markdown := read(t, results, "unroll.md")
	for _, text := range []string{
		"| T = 1 | 0.50000 ± 0.00000 | 25.00 ± 0.00 | 10.00 ± 0.00 | 0.74 | 9 | 1 | 0.0215 | −70.00 (−197.06 to 57.06) | alpha=0.0001;energy_scale=3;learning_rate=0.01 |", "| T = 3 | 0.50000 | 25.00 | 0.00 | – | – | – | – | – | energy_scale=30;learning_rate=0.003 |",
		"MNIST (SHA-256 mnist-012345…), profile `smoke`, 2 epochs of 1000 images, 2 seeds, backend xla-cpu on made (2 cores), commit 0123456789ab: T = 0 in 10 s a run, T = 1 in 12 s a run.", "(α = 0 or 0.0001)",
	} {
		require.Contains(t, markdown, text)
	}
	for _, figure := range []string{"unroll_train_loss", "unroll_test_error"} {
		require.Contains(t, markdown, "(figures/"+figure+".svg)")
		svg := read(t, results, "figures/"+figure+".svg")
		for _, text := range []string{"T = 0", "T = 1", "T = 3", "MNIST, profile smoke", ">epoch<"} {
			require.Contains(t, svg, text)
		}
		require.NotContains(t, svg, "T = 2")
		require.FileExists(t, filepath.Join(results, "smoke", "figures", figure+".png"))
	}
}

// Runs without a common seed are not tested in pairs.
func TestSweepsOfOtherSeeds(t *testing.T) {
	results := t.TempDir()
	add(t, results, "unroll-0", 1, sweeps("0000000001"))
	add(t, results, "unroll-1", 2, sweeps("1111111111"))
	write(t, results)
	require.Contains(t, read(t, results, "unroll_summary.csv"), ",0.00,,0.74,,,,-90.00,,,none,alpha=")
}

// A training loss that a record does not tell is no number in a report.
func TestSweepsWithoutPenalty(t *testing.T) {
	results := t.TempDir()
	r := add(t, results, "unroll-1", 1, func(r *record.Record) { r.Penalty = nil })
	_, err := report.Write(t.Context(), results, "smoke", suite)
	require.ErrorContains(t, err, "record "+r.ID+" does not say how large its penalty is: remove its file and run ebssc run unroll --only unroll-1")
}

// A p value that is too small for its numbers is printed as a bound, in CSV, too.
func TestSmallPValues(t *testing.T) {
	results := t.TempDir()
	add(t, results, "unroll-0", 1, wrong(1000))
	add(t, results, "unroll-1", 1, wrong(0))
	write(t, results)
	require.Contains(t, read(t, results, "unroll_summary.csv"), ",1000,0,<1e-300,")
	require.Contains(t, read(t, results, "unroll.md"), "| 1000 | 0 | <1e-300 | −100.00 (")
	require.Contains(t, read(t, results, "claims.csv"), ",<1e-300,")
}

// The rows with Adam stand above those with Muon, which are the table's own runs on the same images, each compared with rows of its own kind.
// The curves of these stay the table's.
func TestOptimizersSideBySide(t *testing.T) {
	results := t.TempDir()
	add(t, results, "crelu-lc7", 1, wrong(30))
	add(t, results, "ssc-lc7", 1, wrong(40))
	add(t, results, "ssc-lc7", 2, wrong(50))
	write(t, results)
	require.False(t, exists(filepath.Join(results, "smoke", "optimizer.md")), "no row has Adam")
	add(t, results, "crelu-lc7-adam", 1, wrong(60))
	add(t, results, "ssc-lc7-adam", 1, wrong(50))
	add(t, results, "ssc-lc7", 3, wrong(0), images("mnist32"))
	write(t, results)
	text := read(t, results, "optimizer.md")
	for _, row := range []string{
		"| CReLU+LC₇, Adam | 6.00 | 6.00 | – |", "| SSC+LC₇, Adam | 5.00 | 5.00 | CReLU+LC₇, Adam | −1.00 (",
		"| CReLU+LC₇ | 3.00 | 3.00 | – |", "| SSC+LC₇ | 4.50 ± 0.71 | 4.50 ± 0.71 | CReLU+LC₇ | 1.50",
	} {
		_, below, found := strings.Cut(text, row)
		require.True(t, found, "%s does not follow:\n%s", row, text)
		text = below
	}
	require.Contains(t, read(t, results, "figures/optimizer_curves.svg"), "mean over seeds")
	require.NotContains(t, read(t, results, "table.csv"), "adam")

	results = t.TempDir()
	add(t, results, "crelu-lc7", 1)
	slower := func(r *record.Record) { r.Curve[0].Seconds++ }
	add(t, results, "crelu-lc7", 1, images("mnist32"), slower)
	write(t, results)
	curve := read(t, results, "curves/crelu-lc7-1.csv")
	add(t, results, "crelu-lc7-adam", 1, images("mnist32"))
	write(t, results)
	require.Equal(t, curve, read(t, results, "curves/crelu-lc7-1.csv"), "digits do not take the place of the table's curve")
}

// Both studies share one CSV file; what the paper says is judged by the numbers, and pictures are the recorded ones.
func TestDecodings(t *testing.T) {
	results := t.TempDir()
	picture := filepath.Join(results, "smoke", "figures", "levels.png")
	require.NoError(t, os.MkdirAll(filepath.Dir(picture), 0o755))
	require.NoError(t, os.WriteFile(picture, []byte("PNG"), 0o644))
	sum := sha256.Sum256([]byte("PNG"))
	figure := record.Figure{File: "levels.png", Title: "levels\nof it", SHA256: hex.EncodeToString(sum[:])}
	add(t, results, "ssc-ebc17", 1, decodings(-0.001, figure))
	p := write(t, results)
	add(t, results, "ssc-ebc17-mnist", 1, decodings(0.01), images("mnist"))
	require.Empty(t, p.Missing())
	write(t, results)
	lines := strings.Split(strings.TrimSpace(read(t, results, "decoding.csv")), "\n")
	require.Len(t, lines, 1+2*2*7)
	require.Equal(t, "experiment,trained,block,width,dataset,dataset_sha256,profile,backend,differs,seed,epochs,train_images,images,cosine,cosine_std,error,difference,difference_std,ink_share,ink_area,seconds,cpu,commit", lines[0])
	require.Contains(t, lines[1], "ssc-ebc17,true,conv1,4,cifar10-made,")
	require.Contains(t, lines[1], ",smoke,xla-cpu,,1,2,200,1000,0.9000,0.0500,0.4000,0.010000,0.005000,,,3,made (2 cores),0123456789ab")
	require.Contains(t, lines[16], "ssc-ebc17-mnist,true,conv2,4,mnist,")
	require.Contains(t, lines[16], ",0.020000,0.005000,0.5000,0.2000,")
	text := read(t, results, "decoding.md")
	for _, part := range []string{"\n## SSC+EBC₁₋₇\n", "![levels: of it](figures/levels.png)", "falls to 0.300, at conv7; from the lowest block it is 0.900", "rise in 0 of 6 steps"} {
		require.Contains(t, text, part)
	}
	require.Contains(t, read(t, results, "residuals.md"), "rise in 6 of 6 steps")
	require.True(t, strings.Contains(read(t, results, "report.html"), `src="data:image/png;base64,UE5H"`))

	require.NotContains(t, text, "seeds: cosine")
	second := add(t, results, "ssc-ebc17", 2, decodings(0.003, record.Figure{File: "missing.png"}))
	_, err := report.Write(t.Context(), results, "smoke", suite)
	require.ErrorContains(t, err, "missing.png", "pictures of all seeds are verified")
	require.NoError(t, os.Remove(record.Path(filepath.Join(results, "smoke", record.Folder), second.ID)))
	add(t, results, "ssc-ebc17", 2, decodings(0.003))
	write(t, results)
	text = read(t, results, "decoding.md")
	require.Contains(t, text, "| untrained: difference | 2 seeds: cosine | 2 seeds: difference |")
	require.Contains(t, text, "| 0.004 | 0.004 | 0.290 ± 0.014 | 0.016 ± 0.02 |")
	require.Contains(t, text, "Pictures and numbers are of seed 1. Columns of 2 seeds are means")
	require.Len(t, strings.Split(strings.TrimSpace(read(t, results, "decoding.csv")), "\n"), 1+3*2*7, "a line a seed")

	require.NoError(t, os.WriteFile(picture, []byte("other"), 0o644))
	_, err = report.Write(t.Context(), results, "smoke", suite)
	require.ErrorContains(t, err, picture+" is not the one of record")
	require.NoError(t, os.Remove(picture))
	_, err = report.Write(t.Context(), results, "smoke", suite)
	require.ErrorContains(t, err, picture)
	for _, name := range []string{"../table.png", "a.gif", "/etc/passwd"} {
		results := t.TempDir()
		add(t, results, "ssc-ebc17", 1, decodings(0, record.Figure{File: name}))
		_, err = report.Write(t.Context(), results, "smoke", suite)
		require.ErrorContains(t, err, "not the name of an SVG or PNG file")
	}
	results = t.TempDir()
	add(t, results, "ssc-ebc17", 1)
	require.Len(t, write(t, results).Missing(), 1, "a run without decodings is not complete")
	require.NoFileExists(t, filepath.Join(results, "smoke", "decoding.md"))
}

// Decoded runs that differ in their width alone are compared, each training apart; a network at chance is shown untrained alone.
func TestDecodingsByWidth(t *testing.T) {
	results := t.TempDir()
	errs := func(count int) change { // of 25 test images
		return func(r *record.Record) {
			r.Labels, r.Predictions = strings.Repeat("1", 25), strings.Repeat("1", 25-count)+strings.Repeat("0", count)
			r.TestErr = record.ErrorRate(r.Predictions, r.Labels)
		}
	}
	trial := func(seed int, overrides experiments.Overrides, changes ...change) {
		addTrial(t, results, "ssc-ebc17", seed, overrides, append(changes, decodings(0))...)
	}
	add(t, results, "ssc-ebc17", 1, errs(10), decodings(0))
	write(t, results)
	require.NotContains(t, read(t, results, "decoding.md"), "by width", "one width")
	trial(1, experiments.Overrides{Width: 12}, errs(22))
	trial(1, experiments.Overrides{Width: 8}, errs(5))
	trial(2, experiments.Overrides{Width: 8}, errs(4))
	trial(1, experiments.Overrides{Epochs: 1}, errs(12))
	write(t, results)
	text := read(t, results, "decoding.md")
	_, text, found := strings.Cut(text, "## SSC+EBC₁₋₇ by width, 2 epochs of 200 images\n")
	require.True(t, found)
	require.Contains(t, text, `
| Network | seeds | test err. % | conv1 | conv2 | conv3 | conv4 | conv5 | conv6 | conv7 |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| width 4, untrained | 1 | – | 0.300 | 0.300 | 0.300 | 0.300 | 0.300 | 0.300 | 0.300 |
| width 8, untrained | 2 | – | 0.300 ± 0.000 | 0.300 ± 0.000 | 0.300 ± 0.000 | 0.300 ± 0.000 | 0.300 ± 0.000 | 0.300 ± 0.000 | 0.300 ± 0.000 |
| width 12, untrained | 1 | – | 0.300 | 0.300 | 0.300 | 0.300 | 0.300 | 0.300 | 0.300 |
| width 4, trained | 1 | 40.00 | 0.900 | 0.800 | 0.700 | 0.600 | 0.500 | 0.400 | 0.300 |
| width 8, trained | 2 | 18.00 ± 2.83 | 0.890 ± 0.014 | 0.790 ± 0.014 | 0.690 ± 0.014 | 0.590 ± 0.014 | 0.490 ± 0.014 | 0.390 ± 0.014 | 0.290 ± 0.014 |
`)
	require.NotContains(t, text, "by width, 1 epoch", "one width was trained so")
	require.FileExists(t, filepath.Join(results, "smoke", "figures", "decoding_widths.svg"))
	lines := strings.Split(strings.TrimSpace(read(t, results, "decoding.csv")), "\n")
	require.Len(t, lines, 1+4*2*7, "the study's line comes first, then other widths")
	require.Contains(t, lines[15], "ssc-ebc17,true,conv1,8,")

	trial(1, experiments.Overrides{Epochs: 1, Width: 8}, errs(11))
	write(t, results)
	text = read(t, results, "decoding.md")
	require.Less(t, strings.Index(text, "by width, 2 epochs"), strings.Index(text, "by width, 1 epoch"))
	require.FileExists(t, filepath.Join(results, "smoke", "figures", "decoding_widths2.svg"))

	removeRecords(t, results, "smoke")
	write(t, results)
	require.Empty(t, files(t, filepath.Join(results, "smoke")), "no record is left")
}

// The overview shows runs beside the paper's errors: never digits in the place of CIFAR-10, and machines apart. More curves than colours
// are no error.
func TestOverview(t *testing.T) {
	results := t.TempDir()
	addAt(t, results, "quick", "relu-lc7", 1, images("mnist32"), wrong(10))
	_, err := report.WriteAll(t.Context(), results, suite)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(results, "errors.csv"))
	full := func(r *record.Record) { r.Run.TrainImages = r.Run.Dataset.Train }
	for _, e := range suite.Experiments() {
		study, _, err := suite.Experiment(e.Name)
		require.NoError(t, err)
		if study.Name == "table" || study.Name == "optimizer" {
			addAt(t, results, "quick", e.Name, 1, images("cifar10-jpeg"), wrong(200), full)
			addAt(t, results, "quick", e.Name, 1, images("cifar10-jpeg"), wrong(200), full, func(r *record.Record) {
				r.Run.Machine.Backend, r.Run.Settings = "xla-cuda", r.Run.Settings.With(experiments.Settings{ebssc.ParamPlainOps: true})
			})
		}
	}
	_, err = report.WriteAll(t.Context(), results, suite)
	require.NoError(t, err)
	addAt(t, results, "quick", "ssc-ebc67", 1, func(r *record.Record) {
		*r = recordtest.New(t, suite, "ssc-ebc67", "quick", 1, experiments.Overrides{Width: 96})
	}, images("cifar10-jpeg"), wrong(100), full)
	_, err = report.WriteAll(t.Context(), results, suite)
	require.NoError(t, err)
	text := readAt(t, results, ".", "errors.csv")
	require.NotContains(t, text, "mnist32")
	require.Contains(t, text, "cifar10-jpeg")
	svg := readAt(t, results, ".", "errors.svg")
	for _, title := range []string{"training, xla-cpu", "training, xla-cuda", "hours of one core", "hours of one device"} {
		require.Contains(t, svg, title)
	}
	require.Equal(t, 1, strings.Count(svg, ">SSC+EBC₆-₇, width 96<"), "a width that no profile has is a curve of its own")
	for _, title := range []string{"SSC+EBC₆-₇", "SSC+EBC₆-₇, Adam"} { // the font lacks a minus below the line
		require.Equal(t, 2, strings.Count(svg, ">"+title+"<"), "%s has a curve for each machine", title)
	}

	removeRecords(t, results, "quick")
	_, err = report.WriteAll(t.Context(), results, suite)
	require.NoError(t, err)
	for _, name := range []string{"errors.csv", "errors.svg", "errors.png"} {
		require.NoFileExists(t, filepath.Join(results, name), "no row is left")
	}
}

// removeRecords removes all records of a profile.
func removeRecords(t *testing.T, results, profile string) {
	paths, err := filepath.Glob(filepath.Join(results, profile, record.Folder, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		require.NoError(t, os.Remove(path))
	}
}

// Files of others that have the names of reports are left alone in a folder without records.
func TestForeignFolder(t *testing.T) {
	results := t.TempDir()
	for _, name := range []string{"errors.csv", "paper/report.html", "paper/table.csv", "quick/claims.md"} {
		path := filepath.Join(results, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	}
	add(t, results, "relu-lc7", 1)
	_, err := report.WriteAll(t.Context(), results, suite)
	require.NoError(t, err)
	for _, name := range []string{"errors.csv", "paper/report.html", "paper/table.csv", "quick/claims.md"} {
		require.Equal(t, "mine", readAt(t, results, ".", name))
	}
}

// Rows that a profile makes the same are said to be, and no others.
func TestRepeatedRows(t *testing.T) {
	results := t.TempDir()
	for _, name := range []string{"ssc-lc7-base", "ssc-lc7-dropout", "ssc-lc7-no-dropout", "ssc-avg-lc7"} {
		add(t, results, name, 1, wrong(300))
	}
	write(t, results)
	text := read(t, results, "ablations.md")
	require.Contains(t, text, "- SSC+LC₇, no dropout is the same as SSC+LC₇ at this profile: ")
	require.Equal(t, 1, strings.Count(text, "is the same as"))
}
