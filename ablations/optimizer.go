package ablations

import "ebsscgo/experiments"

// Optimizer trains rows of the table with the paper's optimizer, Adam, at the scale of the table: do the differences between rows hang
// on the optimizer?
var Optimizer = experiments.Study{
	Name: "optimizer", About: "rows of the table with the paper's optimizer, Adam", Images: experiments.CIFAR10,
	Report: experiments.Rows, Ablation: true, Experiments: withAdam("crelu-lc7", "ssc-lc7", "ssc-ebc67"),
}

// withAdam returns rows of the table with Adam in place of Muon, each to be compared with the one before it.
func withAdam(names ...string) (rows []experiments.Experiment) {
	for i, name := range names {
		row := tableRow(name)
		row.Name, row.Title, row.Base, row.Paper, row.Decoded = name+"-adam", row.Title+", Adam", "", experiments.Paper{}, false
		row.Change = func(h *experiments.Hyper) { h.Optimizer, h.WarmUp = experiments.Adam, 0 }
		if i > 0 {
			row.Base = rows[i-1].Name
		}
		rows = append(rows, row)
	}
	return rows
}
