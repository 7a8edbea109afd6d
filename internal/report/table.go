package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	_ "ebsscgo/ablations" // so that their study is reported, too
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/files"
	"ebsscgo/internal/table"
	"ebsscgo/internal/train"
)

// tableLayout is that of table.csv. Errors are in percent; *_std is the standard deviation over seeds, empty for a single one;
// profile names settings that were changed, "quick+beta=0.01"; seconds are those of all seeds together. base is the row that
// one is compared with, where both are recorded: delta_base is the difference in test error to it, in percentage points, with
// its 95 % interval (see [Measured]; of a single seed that of the images alone) and the p value of [McNemar]'s test.
var tableLayout = table.Layout{Keys: 1, Columns: []string{
	"experiment", "dataset", "dataset_sha256", "profile", "backend", "seeds", "epochs", "train_images", "test_images", "params", "paper_params",
	"train_err", "train_err_std", "test_err", "test_err_std", "paper_train_err", "paper_test_err", "delta_test_err",
	"base", "delta_base", "delta_base_low", "delta_base_high", "p_value", "seconds", "commit",
}}

// baseColumns are those of the comparison with another row.
var baseColumns = []string{"base", "delta_base", "delta_base_low", "delta_base_high", "p_value"}

// Line is a line of a CSV file: its fields by column.
type Line = table.Line

// Write rewrites the reports of a profile from its recorded runs. Lines whose runs are not recorded here stay as they are:
// each line says itself how it was got. It waits while another process writes them.
func Write(results, profile string) error {
	folder := filepath.Join(results, profile)
	if !exists(folder) {
		return nil
	}
	unlock, err := lock(folder)
	if err != nil {
		return err
	}
	defer unlock()
	groups, err := Collect(folder)
	if err != nil {
		return err
	}
	for _, study := range experiments.Studies {
		switch study.Report {
		case experiments.Rows:
			err = writeTable(folder, profile, study, groups)
		case experiments.Sweeps:
			err = writeSweeps(folder, profile, study, groups)
		}
		if err != nil {
			return err
		}
	}
	if err := writeClaims(folder, profile, groups); err != nil {
		return err
	}
	return writeHeldOut(folder, groups)
}

// Summary is the name of the file in a profile's folder with the report of a study for reading.
func Summary(study experiments.Study) string { return study.Name + ".md" }

// writeTable writes table.csv, table.md and the curves of its runs. Without any line it writes nothing.
func writeTable(folder, profile string, study experiments.Study, groups []Group) error {
	path := filepath.Join(folder, study.Name+".csv")
	old, err := tableLayout.Read(path)
	if err != nil {
		return err
	}
	var recorded []Line
	var names []string
	for _, row := range study.Experiments {
		names = append(names, row.Name)
		if group := Latest(groups, row.Name); group != nil {
			l, err := line(row, group, Latest(groups, row.Base))
			if err != nil {
				return err
			}
			recorded = append(recorded, l)
			if err := writeCurves(folder, group); err != nil {
				return err
			}
		}
	}
	lines := inOrder(tableLayout.Merge(old, recorded), "experiment", names)
	if len(lines) == 0 {
		return nil
	}
	dropBases(old, recorded, lines)
	if err := tableLayout.Write(path, lines); err != nil {
		return err
	}
	drawn, err := drawTable(folder, study, lines)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, Summary(study)), []byte(markdown(profile, study, lines, drawn)))
}

// dropBases removes comparisons with rows that were measured anew since.
func dropBases(old, recorded, lines []Line) {
	for _, l := range lines {
		isRecorded := findIn(recorded, "experiment", l["experiment"]) != nil
		if replaced(tableLayout, findIn(old, "experiment", l["base"]), findIn(recorded, "experiment", l["base"])) && !isRecorded {
			l.Drop(baseColumns...)
		}
	}
}

// inOrder are the lines with one of the values in a column, in the order of the values.
func inOrder(lines []Line, column string, values []string) (ordered []Line) {
	for _, value := range values {
		for _, l := range lines {
			if l[column] == value {
				ordered = append(ordered, l)
			}
		}
	}
	return ordered
}

// line sums up a row's runs, beside those of its base, if any are recorded.
func line(row experiments.Experiment, group, base Group) (Line, error) {
	trainErr, trainStd := spread(group, func(r train.Result) float64 { return r.TrainErr })
	testErr, testStd := spread(group, func(r train.Result) float64 { return r.TestErr })
	l := origin(group)
	l["experiment"], l["params"] = row.Name, strconv.Itoa(group[0].Parameters)
	l["train_err"], l["train_err_std"] = percent(trainErr), percent(trainStd)
	l["test_err"], l["test_err_std"] = percent(testErr), percent(testStd)
	// The paper's numbers are of CIFAR-10 and stand beside no other images.
	if row.Paper != (experiments.Paper{}) && !strings.HasPrefix(l["dataset"], dataset.MNIST32Name) {
		l["paper_params"] = row.Paper.Params
		l["paper_train_err"], l["paper_test_err"] = percent(row.Paper.TrainErr), percent(row.Paper.TestErr)
		l["delta_test_err"] = percent(testErr - row.Paper.TestErr)
	}
	if base == nil || !alike(group, base) {
		return l, nil
	}
	m, err := difference(experiments.TestErr, group, base)
	if err != nil {
		return nil, err
	}
	l["base"], l["delta_base"] = row.Base, percent(m.Value)
	l["delta_base_low"], l["delta_base_high"] = percent(m.Interval.Low), percent(m.Interval.High)
	l["p_value"] = pValue(m.P)
	return l, nil
}

// pValue prints a p value, and nothing for none.
func pValue(p float64) string {
	if math.IsNaN(p) {
		return ""
	}
	return strconv.FormatFloat(p, 'g', 3, 64)
}

// origin says how a line was got: the columns that all summaries share.
func origin(group Group) Line {
	run := group[0].Run
	var commits []string
	seconds := 0.0
	for _, result := range group {
		seconds += result.Seconds
		if !slices.Contains(commits, result.Commit) {
			commits = append(commits, result.Commit)
		}
	}
	profile := run.Profile
	if changed := run.Changed(); len(changed) > 0 {
		profile += "+" + changed.String()
	}
	return Line{
		"dataset": run.Dataset, "dataset_sha256": run.SHA256, "profile": profile, "backend": run.Machine().String(),
		"seeds": strconv.Itoa(len(group)), "epochs": strconv.Itoa(run.Epochs), "train_images": strconv.Itoa(run.TrainImages),
		"test_images": strconv.Itoa(run.TestImages), "seconds": decimals(seconds, 0),
		"commit": strings.Join(commits, "+"),
	}
}

// spread is the mean of a quantity over a group's seeds and its standard deviation, NaN for a single seed.
func spread(group Group, quantity func(train.Result) float64) (mean, std float64) {
	var values []float64
	for _, result := range group {
		values = append(values, quantity(result))
	}
	return stat.MeanStdDev(values, nil)
}

// percent prints a percentage, and nothing for one that is not known.
func percent(value float64) string { return decimals(value, 2) }

// decimals prints a number with that many decimals, and nothing for NaN, which is not known.
func decimals(value float64, count int) string {
	if math.IsNaN(value) {
		return ""
	}
	return strconv.FormatFloat(value, 'f', count, 64)
}

// ReadTable reads a table.csv, by experiment. A file that is not there is an empty table.
func ReadTable(path string) (map[string]Line, error) {
	lines, err := tableLayout.Read(path)
	byExperiment := map[string]Line{}
	for _, l := range lines {
		byExperiment[l["experiment"]] = l
	}
	return byExperiment, err
}

// writeCurves copies the learning curves of a group's runs.
func writeCurves(folder string, group Group) error {
	for _, result := range group {
		text, err := os.ReadFile(filepath.Join(folder, RunsFolder, result.ID, train.CurveFile))
		if err != nil {
			return fmt.Errorf("run %s has no learning curve: %w", result.ID, err)
		}
		name := fmt.Sprintf("%s-%d.csv", result.Run.Experiment, result.Run.Seed)
		if err := files.Write(filepath.Join(folder, "curves", name), text); err != nil {
			return err
		}
	}
	return nil
}
