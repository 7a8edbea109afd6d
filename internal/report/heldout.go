package report

import (
	"path/filepath"
	"strconv"

	"ebsscgo/internal/table"
	"ebsscgo/internal/train"
)

// heldOut is the layout of heldout.csv: what says which measurement it is, and then what was measured. settings are those
// in which it differs from what the experiment and the profile declare.
var heldOut = table.Layout{Keys: 9, Columns: []string{
	"experiment", "settings", "dataset", "width", "train_images", "heldout_images", "epochs", "seeds", "backend",
	"train_err", "heldout_err", "seconds", "commit",
}}

// writeHeldOut adds to heldout.csv what was measured on held-out training images. Lines whose runs are not recorded here
// stay as they are. Without such runs it writes nothing.
func writeHeldOut(folder string, groups []Group) error {
	var lines []Line
	for _, group := range groups {
		if group[0].Run.HeldOut > 0 {
			lines = heldOut.Merge(lines, []Line{heldOutLine(group)}) // what was asked for last counts
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return heldOut.Update(filepath.Join(folder, "heldout.csv"), lines)
}

// heldOutLine sums up runs that were measured on held-out images.
func heldOutLine(group Group) Line {
	run := group[0].Run
	trainErr, _ := spread(group, func(r train.Result) float64 { return r.TrainErr })
	heldOutErr, _ := spread(group, func(r train.Result) float64 { return r.TestErr })
	seconds, _ := spread(group, func(r train.Result) float64 { return r.Seconds })
	return Line{
		"experiment": run.Experiment, "settings": run.Changed().String(), "dataset": run.Dataset,
		"width": strconv.Itoa(run.Network.Layers[0].Block.Filters), "train_images": strconv.Itoa(run.TrainImages),
		"heldout_images": strconv.Itoa(run.HeldOut), "epochs": strconv.Itoa(run.Epochs), "seeds": strconv.Itoa(len(group)),
		"backend": run.Machine().String(), "train_err": percent(trainErr), "heldout_err": percent(heldOutErr),
		"seconds": decimals(seconds*float64(len(group)), 0), "commit": group[0].Commit,
	}
}
