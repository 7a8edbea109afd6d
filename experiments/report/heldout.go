package report

import (
	"path/filepath"
	"strconv"
	"strings"

	"ebsscgo/experiments/training"
)

// Columns of heldout.csv: what says which measurement it is, and then what was measured. settings are those in which it
// differs from what the row and the profile declare.
var (
	heldOutKey = []string{
		"experiment", "settings", "dataset", "width", "train_images", "heldout_images", "epochs", "seeds", "backend",
	}
	heldOutColumns = append(heldOutKey[:len(heldOutKey):len(heldOutKey)], "train_err", "heldout_err", "seconds", "commit")
)

// writeHeldOut adds to heldout.csv what was measured on held-out training images. Lines whose runs are not recorded here
// stay as they are. Without such runs it writes nothing.
func writeHeldOut(folder string, groups []Group) error {
	path := filepath.Join(folder, "heldout.csv")
	lines, err := readCSV(path)
	if err != nil {
		return err
	}
	changed := false
	for _, group := range groups {
		if group[0].Run.HeldOut > 0 {
			lines, changed = put(lines, heldOutLine(group)), true
		}
	}
	if !changed {
		return nil
	}
	return writeCSV(path, heldOutColumns, lines)
}

// heldOutLine sums up runs that were measured on held-out images.
func heldOutLine(group Group) Line {
	run := group[0].Run
	trainErr, _ := spread(group, func(r training.Result) float64 { return r.TrainErr })
	heldOutErr, _ := spread(group, func(r training.Result) float64 { return r.TestErr })
	seconds, _ := spread(group, func(r training.Result) float64 { return r.Seconds })
	return Line{
		"experiment": run.Experiment, "settings": run.Changed().String(), "dataset": run.Dataset,
		"width": strconv.Itoa(run.Network.Layers[0].Block.Filters), "train_images": strconv.Itoa(run.TrainImages),
		"heldout_images": strconv.Itoa(run.HeldOut), "epochs": strconv.Itoa(run.Epochs), "seeds": strconv.Itoa(len(group)),
		"backend": run.Backend, "train_err": percent(trainErr), "heldout_err": percent(heldOutErr),
		"seconds": strconv.FormatFloat(seconds*float64(len(group)), 'f', 0, 64), "commit": group[0].Commit,
	}
}

// put replaces the line of the same measurement, or appends the line.
func put(lines []Line, l Line) []Line {
	key := func(l Line) string {
		var parts []string
		for _, column := range heldOutKey {
			parts = append(parts, l[column])
		}
		return strings.Join(parts, "\x00")
	}
	for i := range lines {
		if key(lines[i]) == key(l) {
			lines[i] = l
			return lines
		}
	}
	return append(lines, l)
}
