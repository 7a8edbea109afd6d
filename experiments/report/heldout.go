package report

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/experiments/training"
)

var heldOutColumns = []string{
	"experiment", "settings", "dataset", "width", "train_images", "heldout_images", "epochs", "seeds", "backend",
	"train_err", "heldout_err", "seconds", "commit",
}

// writeHeldOut lists what was measured on held-out training images, with the settings in which a run differs from the
// recipe. Without such runs it writes nothing.
func writeHeldOut(folder string, groups []Group) error {
	var lines []Line
	for _, group := range groups {
		run := group[0].Run
		if run.HeldOut == 0 {
			continue
		}
		trainErr, _ := spread(group, func(r training.Result) float64 { return r.TrainErr })
		heldOutErr, _ := spread(group, func(r training.Result) float64 { return r.TestErr })
		seconds, _ := spread(group, func(r training.Result) float64 { return r.Seconds })
		lines = append(lines, Line{
			"experiment": run.Experiment, "settings": differences(run.Settings), "dataset": run.Dataset,
			"width": strconv.Itoa(run.Network.Layers[0].Block.Filters), "train_images": strconv.Itoa(run.TrainImages),
			"heldout_images": strconv.Itoa(run.HeldOut), "epochs": strconv.Itoa(run.Epochs), "seeds": strconv.Itoa(len(group)),
			"backend": run.Backend, "train_err": percent(trainErr), "heldout_err": percent(heldOutErr),
			"seconds": strconv.FormatFloat(seconds*float64(len(group)), 'f', 0, 64), "commit": group[0].Commit,
		})
	}
	if len(lines) == 0 {
		return nil
	}
	return writeCSV(filepath.Join(folder, "heldout.csv"), heldOutColumns, lines)
}

// differences are the settings that are not the recipe's, as --set takes them.
func differences(settings experiments.Settings) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if settings[name] != experiments.Recipe[name] {
			parts = append(parts, fmt.Sprintf("%s=%v", name, settings[name]))
		}
	}
	return strings.Join(parts, ";")
}
