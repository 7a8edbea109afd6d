package ablations

import "ebsscgo/experiments"

// Optimizer trains rows of the table with the paper's optimizer, Adam, at the scale of the table: do the differences between rows hang
// on the optimizer?
var Optimizer = experiments.Study{
	Name: "optimizer", About: "rows of the table with the paper's optimizer, Adam, beside those with Muon", Images: experiments.CIFAR10,
	Report: experiments.Rows, Ablation: true, LikeTable: true,
	Experiments: withAdam(chain("crelu-lc7", "ssc-lc7", "ssc-ebc67")), Reference: chain("crelu-lc7", "ssc-lc7", "ssc-ebc67"),
}

// chain returns rows of the table, each to be compared with the one before it.
func chain(names ...string) (rows []experiments.Experiment) {
	base := ""
	for _, name := range names {
		row := tableRow(name)
		row.Base, base = base, name
		rows = append(rows, row)
	}
	return rows
}

// withAdam returns the rows with Adam in place of Muon.
func withAdam(rows []experiments.Experiment) []experiments.Experiment {
	const suffix = "-adam"
	for i := range rows {
		row := &rows[i]
		row.Name, row.Title, row.Paper = row.Name+suffix, row.Title+", Adam", experiments.Paper{}
		row.Settings = experiments.Settings{experiments.ParamOptimizer: experiments.Adam, experiments.ParamWarmUp: 0.0}
		if row.Base != "" {
			row.Base += suffix
		}
	}
	return rows
}
