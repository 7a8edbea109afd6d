package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"gonum.org/v1/gonum/stat"

	"ebsscgo/experiments"
	"ebsscgo/experiments/data"
	"ebsscgo/experiments/training"
)

// Columns of table.csv. Errors are in percent; *_std is the standard deviation over seeds, empty for a single one;
// profile names settings that were changed, "quick+beta=0.01"; seconds are those of all seeds together.
var Columns = []string{
	"experiment", "dataset", "dataset_sha256", "profile", "backend", "seeds", "epochs", "params", "paper_params",
	"train_err", "train_err_std", "test_err", "test_err_std", "paper_train_err", "paper_test_err", "delta_test_err",
	"seconds", "commit",
}

// Line is a line of table.csv by column.
type Line map[string]string

// Write rewrites table.csv, table.md, curves/ and heldout.csv of a profile from its recorded runs. Lines of table.csv
// whose runs are not recorded here stay as they are: each line says itself how it was got.
func Write(results, profile string) error {
	folder := filepath.Join(results, profile)
	groups, err := Collect(folder)
	if err != nil {
		return err
	}
	lines, err := ReadTable(filepath.Join(folder, "table.csv"))
	if err != nil {
		return err
	}
	var table []Line
	for _, row := range experiments.Table {
		if group := latest(groups, row.Name); group != nil {
			table = append(table, line(row, group))
			if err := writeCurves(folder, group); err != nil {
				return err
			}
		} else if kept, ok := lines[row.Name]; ok {
			table = append(table, kept)
		}
	}
	if len(table) > 0 {
		if err := writeCSV(filepath.Join(folder, "table.csv"), Columns, table); err != nil {
			return err
		}
		if err := write(filepath.Join(folder, "table.md"), []byte(markdown(profile, table))); err != nil {
			return err
		}
	}
	return writeHeldOut(folder, groups)
}

// line sums up a row's runs.
func line(row experiments.Row, group Group) Line {
	run := group[0].Run
	trainErr, trainStd := spread(group, func(r training.Result) float64 { return r.TrainErr })
	testErr, testStd := spread(group, func(r training.Result) float64 { return r.TestErr })
	commits := map[string]bool{}
	var commit []string
	seconds := 0.0
	for _, result := range group {
		seconds += result.Seconds
		if !commits[result.Commit] {
			commits[result.Commit] = true
			commit = append(commit, result.Commit)
		}
	}
	profile := run.Profile
	if changed := run.Changed(); len(changed) > 0 {
		profile += "+" + changed.String()
	}
	l := Line{
		"experiment": row.Name, "dataset": run.Dataset, "dataset_sha256": run.SHA256, "profile": profile,
		"backend": run.Backend, "seeds": strconv.Itoa(len(group)), "epochs": strconv.Itoa(run.Epochs),
		"params": strconv.Itoa(group[0].Parameters), "train_err": percent(trainErr), "train_err_std": percent(trainStd),
		"test_err": percent(testErr), "test_err_std": percent(testStd),
		"seconds": strconv.FormatFloat(seconds, 'f', 0, 64), "commit": strings.Join(commit, "+"),
	}
	// The paper's numbers are of CIFAR-10 and stand beside no other images.
	if row.Paper != (experiments.Paper{}) && !strings.HasPrefix(run.Dataset, data.MNIST32Name) {
		l["paper_params"] = row.Paper.Params
		l["paper_train_err"], l["paper_test_err"] = percent(row.Paper.TrainErr), percent(row.Paper.TestErr)
		l["delta_test_err"] = percent(testErr - row.Paper.TestErr)
	}
	return l
}

// spread is the mean of a quantity over a group's seeds and its standard deviation, NaN for a single seed.
func spread(group Group, quantity func(training.Result) float64) (mean, std float64) {
	var values []float64
	for _, result := range group {
		values = append(values, quantity(result))
	}
	return stat.MeanStdDev(values, nil)
}

// percent prints a percentage, and nothing for one that is not known.
func percent(value float64) string {
	if math.IsNaN(value) {
		return ""
	}
	return strconv.FormatFloat(value, 'f', 2, 64)
}

// ReadTable reads a table.csv, by experiment. A file that is not there is an empty table.
func ReadTable(path string) (map[string]Line, error) {
	lines, err := readCSV(path)
	table := map[string]Line{}
	for _, l := range lines {
		table[l["experiment"]] = l
	}
	return table, err
}

// readCSV reads lines with their columns' names from the first; none where there is no file.
func readCSV(path string) (lines []Line, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w: remove it, or restore it from git", path, err)
	}
	for i := 1; i < len(records); i++ {
		l := Line{}
		for column, name := range records[0] {
			l[name] = records[i][column]
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// writeCSV writes lines under the given columns.
func writeCSV(path string, columns []string, lines []Line) error {
	var text bytes.Buffer
	writer := csv.NewWriter(&text)
	records := [][]string{columns}
	for _, l := range lines {
		var record []string
		for _, column := range columns {
			record = append(record, l[column])
		}
		records = append(records, record)
	}
	if err := writer.WriteAll(records); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return write(path, text.Bytes())
}

// write replaces a file in one step.
func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	if err := renameio.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return nil
}

// writeCurves copies the learning curves of a group's runs.
func writeCurves(folder string, group Group) error {
	for _, result := range group {
		text, err := os.ReadFile(filepath.Join(folder, RunsFolder, result.ID, training.CurveFile))
		if err != nil {
			return fmt.Errorf("run %s has no learning curve: %w", result.ID, err)
		}
		name := fmt.Sprintf("%s-%d.csv", result.Run.Experiment, result.Run.Seed)
		if err := write(filepath.Join(folder, "curves", name), text); err != nil {
			return err
		}
	}
	return nil
}
