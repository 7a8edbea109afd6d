package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/files"
	"ebsscgo/internal/table"
	"ebsscgo/internal/train"
)

// epochLayout is that of a sweeps study's learning curves, unroll.csv: a line an epoch of a run, measured after it without
// dropout. train_objective is in nats, errors are fractions; the training columns are of the first training images. seconds
// are those of the epoch.
var epochLayout = table.Layout{Keys: 1, Columns: []string{
	"sweeps", "seed", "epoch", "train_objective", "train_err", "test_err", "seconds",
}}

// sweepsLayout is that of its summary, unroll_summary.csv: a line a number of sweeps T, of all images after the last epoch,
// in the same units. fixed, broken, p_value and verdict are of the paired test against T−1, see [McNemar]; they are empty
// where no runs are recorded that differ from these in T alone. The other columns are as in table.csv.
var sweepsLayout = table.Layout{Keys: 1, Columns: []string{
	"sweeps", "dataset", "dataset_sha256", "profile", "backend", "seeds", "epochs", "train_images", "test_images", "alpha",
	"train_objective", "train_objective_std", "train_err", "train_err_std", "test_err", "test_err_std", "paper_test_err",
	"fixed", "broken", "p_value", "verdict", "seconds", "commit",
}}

// writeSweeps writes a study of inference with several numbers of sweeps: its learning curves, its summary, its figures
// and its report. Without any line it writes nothing.
func writeSweeps(folder, profile string, study experiments.Study, groups []Group) error {
	epochsPath, summaryPath := filepath.Join(folder, study.Name+".csv"), filepath.Join(folder, study.Name+"_summary.csv")
	oldEpochs, err := epochLayout.Read(epochsPath)
	if err != nil {
		return err
	}
	oldSummary, err := sweepsLayout.Read(summaryPath)
	if err != nil {
		return err
	}
	newEpochs, newSummary, err := sweepsLines(folder, study, groups)
	if err != nil {
		return err
	}
	var sweeps []string
	for _, e := range study.Experiments {
		sweeps = append(sweeps, sweepsOf(e))
	}
	epochs := inOrder(epochLayout.Merge(oldEpochs, newEpochs), "sweeps", sweeps)
	summary := inOrder(sweepsLayout.Merge(oldSummary, newSummary), "sweeps", sweeps)
	if len(summary) == 0 {
		return nil
	}
	for i := 1; i < len(sweeps); i++ {
		before := sweeps[i-1]
		if findIn(newSummary, "sweeps", sweeps[i]) == nil &&
			replaced(sweepsLayout, findIn(oldSummary, "sweeps", before), findIn(newSummary, "sweeps", before)) {
			findIn(summary, "sweeps", sweeps[i]).Drop(pairedColumns...)
		}
	}
	if err := epochLayout.Write(epochsPath, epochs); err != nil {
		return err
	}
	if err := sweepsLayout.Write(summaryPath, summary); err != nil {
		return err
	}
	if err := drawSweeps(folder, study, epochs, summary); err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, Summary(study)), []byte(sweepsMarkdown(profile, study, summary)))
}

// sweepsLines are the lines of the recorded runs.
func sweepsLines(folder string, study experiments.Study, groups []Group) (epochs, summary []Line, err error) {
	var before Group
	for _, e := range study.Experiments {
		group := Latest(groups, e.Name)
		if group != nil {
			line, err := sweepsLine(e, group, before)
			if err != nil {
				return nil, nil, err
			}
			lines, err := epochLines(folder, e, group)
			if err != nil {
				return nil, nil, err
			}
			epochs, summary = append(epochs, lines...), append(summary, line)
		}
		before = group
	}
	return epochs, summary, nil
}

// sweepsOf is T of an experiment, at any width.
func sweepsOf(e experiments.Experiment) string { return strconv.Itoa(e.Network(1).Sweeps) }

// epochLines are the learning curves of a group's runs.
func epochLines(folder string, e experiments.Experiment, group Group) (lines []Line, err error) {
	for _, result := range group {
		curve, err := train.ReadCurve(filepath.Join(folder, RunsFolder, result.ID, train.CurveFile))
		if err != nil {
			return nil, err
		}
		if len(curve) == 0 {
			return nil, fmt.Errorf("run %s has no learning curve: remove it to train it again", result.ID)
		}
		for _, epoch := range curve {
			if !epoch.Measured {
				return nil, fmt.Errorf("run %s was not measured after epoch %d: remove it to train it again", result.ID, epoch.Epoch)
			}
			lines = append(lines, Line{
				"sweeps": sweepsOf(e), "seed": strconv.Itoa(result.Run.Seed), "epoch": strconv.Itoa(epoch.Epoch),
				"train_objective": decimals(epoch.Objective, 5), "train_err": fraction(epoch.TrainErr),
				"test_err": fraction(epoch.TestErr), "seconds": decimals(epoch.Seconds, 2),
			})
		}
	}
	return lines, nil
}

// sweepsLine sums up the runs of an experiment; before are those of one sweep less, if any.
func sweepsLine(e experiments.Experiment, group, before Group) (Line, error) {
	l := origin(group)
	objective, objectiveStd := spread(group, func(r train.Result) float64 { return r.TrainObjective })
	trainErr, trainStd := spread(group, func(r train.Result) float64 { return r.TrainErr })
	testErr, testStd := spread(group, func(r train.Result) float64 { return r.TestErr })
	l["sweeps"], l["alpha"] = sweepsOf(e), fmt.Sprint(group[0].Run.Settings[ebssc.ParamAlpha])
	l["train_objective"], l["train_objective_std"] = decimals(objective, 5), decimals(objectiveStd, 5)
	l["train_err"], l["train_err_std"] = fraction(trainErr), fraction(trainStd)
	l["test_err"], l["test_err_std"] = fraction(testErr), fraction(testStd)
	// The paper's numbers are of MNIST and stand beside no other images.
	if e.Paper.TestErr != 0 && l["dataset"] == dataset.MNISTName {
		l["paper_test_err"] = decimals(e.Paper.TestErr/100, 4)
	}
	if before == nil || !alike(before, group) {
		return l, nil
	}
	test, ok, err := pairedTest(group, before)
	if err != nil || !ok {
		return l, err
	}
	l["fixed"], l["broken"] = strconv.Itoa(test.Fixed), strconv.Itoa(test.Broken)
	l["p_value"], l["verdict"] = pValue(test.P), test.Verdict()
	return l, nil
}

// fraction prints an error rate in percent as a fraction.
func fraction(percent float64) string { return decimals(percent/100, 5) }

// pairedColumns are those of the paired test.
var pairedColumns = []string{"fixed", "broken", "p_value", "verdict"}

// findIn is the line with that value in a column, nil if there is none.
func findIn(lines []Line, column, value string) Line {
	for _, l := range lines {
		if l[column] == value {
			return l
		}
	}
	return nil
}

// replaced says whether a line took the place of another that says something else.
func replaced(layout table.Layout, old, line Line) bool {
	return line != nil && slices.ContainsFunc(layout.Columns, func(column string) bool { return old[column] != line[column] })
}
