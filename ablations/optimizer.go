package ablations

import "ebsscgo/experiments"

// Optimizer trains rows of the table with the paper's optimizer, Adam, at the scale of the table: do the differences between rows hang
// on the optimizer?
var Optimizer = experiments.Declare(experiments.Study{
	Name: "optimizer", About: "rows of the table with the paper's optimizer, Adam", Images: experiments.CIFAR10, Report: experiments.Rows,
	Ablation: true, LikeTable: true, Experiments: withAdam("crelu-lc7", "ssc-lc7", "ssc-ebc67"),
})

// withAdam returns rows of the table with Adam in place of Muon, each beside the one before it.
func withAdam(names ...string) []experiments.Experiment {
	rows := bases(names...)
	for i := range rows {
		rows[i].Name, rows[i].Title, rows[i].Paper = names[i]+"-adam", rows[i].Title+", Adam", experiments.Paper{}
		rows[i].Settings = experiments.Settings{experiments.ParamOptimizer: experiments.Adam, experiments.ParamWarmUp: 0.0}
		if i > 0 {
			rows[i].Base = rows[i-1].Name
		}
	}
	return rows
}
