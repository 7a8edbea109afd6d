// Package ablations declares studies that the paper does not report: rows of its table with one thing changed, each beside the row that it
// changes, and rows with its optimizer.
package ablations

import (
	"slices"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

// Studies are all studies of the package, in the order in which they run.
var Studies = experiments.Suite{Study, Optimizer}

// Study holds the ablations and their base rows, at one scale.
var Study = experiments.Study{
	Name: "ablations", About: "rows of the table with one thing changed", Images: experiments.CIFAR10, Report: experiments.Rows,
	Ablation: true, Regime: experiments.CIFARRegime, Experiments: slices.Concat(bases("crelu-lc7", "ssc-lc7", "ssc-ebc67"), inSource, ours), Claims: claims,
}

// bases returns rows of the table for the scale of the ablations.
func bases(names ...string) (rows []experiments.Experiment) {
	for _, name := range names {
		row := tableRow(name)
		row.Name, row.Base = name+"-base", ""
		rows = append(rows, row)
	}
	return rows
}

// tableRow is a row of the paper's table. Where none has that name, it has no architecture, and [experiments.Suite.Validate] says so.
func tableRow(name string) experiments.Experiment {
	for _, row := range experiments.Table {
		if row.Name == name {
			return row
		}
	}
	return experiments.Experiment{Name: name}
}

// where the paper reports these rows: they are not in its text.
const where = "Table 2, commented out in the source"

// inSource are the rows that the paper's source has commented out of its Table 2: average pools in place of maxima, and
// other numbers of class-specific blocks. The paper does not say how often its last one is unrolled: once, here.
//
// With class thresholds in all blocks a row takes about ten times as long as the others.
var inSource = []experiments.Experiment{
	{Name: "crelu-avg-lc7", Title: "CReLU(avg)+LC₇", Base: "crelu-lc7-base", Architecture: experiments.SevenBlocks{Body: ebssc.CReLU, AveragePool: true},
		Paper: experiments.Paper{TrainErr: 1.16, TestErr: 11.01, Params: "2.6M", Where: where}},
	{Name: "crelu-ebc7", Title: "CReLU(max)+EBC₇", Base: "crelu-lc7-base", Architecture: experiments.SevenBlocks{Body: ebssc.CReLU, EBC: 7},
		Paper: experiments.Paper{TrainErr: 0.63, TestErr: 10.49, Params: "2.9M", Where: where}},
	{Name: "ssc-avg-lc7", Title: "SSC(avg)+LC₇", Base: "ssc-lc7-base", Architecture: experiments.SevenBlocks{Body: ebssc.SSC, AveragePool: true},
		Paper: experiments.Paper{TrainErr: 1.52, TestErr: 11.84, Params: "2.6M", Where: where}},
	{Name: "ssc-avg-ebc7", Title: "SSC(avg)+EBC₇", Base: "ssc-avg-lc7", Architecture: experiments.SevenBlocks{Body: ebssc.SSC, EBC: 7, AveragePool: true},
		Paper: experiments.Paper{TrainErr: 3.91, TestErr: 13.64, Params: "2.9M", Where: where}},
	{Name: "ssc-avg-ebc17", Title: "SSC(avg)+EBC₁₋₇", Base: "ssc-avg-lc7", Architecture: experiments.SevenBlocks{Body: ebssc.SSC, EBC: 1, AveragePool: true},
		Paper: experiments.Paper{TrainErr: 3.24, TestErr: 15.62, Params: "10.1M", Where: where}},
	{Name: "ssc-lc7-unrolled", Title: "SSC+LC₇ (unrolled)", Base: "ssc-lc7-base", Architecture: experiments.SevenBlocks{Body: ebssc.SSC, Sweeps: 1},
		Paper: experiments.Paper{TrainErr: 3.27, TestErr: 13.41, Params: "2.6M", Where: where}},
}

// ours change one thing that the paper leaves open or does without saying why.
var ours = []experiments.Experiment{
	// The paper found β = 0.001, where SSC+LC₇ starts, better than 0.01 (Sec. 4.1).
	{Name: "ssc-lc7-beta-0.01", Title: "SSC+LC₇, β from 0.01", Base: "ssc-lc7-base", Architecture: plainSSC, Settings: experiments.Settings{ebssc.ParamBeta: 0.01}},
	{Name: "ssc-lc7-beta-fixed", Title: "SSC+LC₇, β fixed", Base: "ssc-lc7-base", Architecture: plainSSC, Settings: experiments.Settings{ebssc.ParamBetaStep: 0.0}},
	{Name: "ssc-lc7-beta-filter", Title: "SSC+LC₇, a β for each filter", Base: "ssc-lc7-base", Architecture: ssc(func(c *ebssc.Coding) { c.Thresholds = ebssc.BetaFilter })},
	{Name: "ssc-lc7-local", Title: "SSC+LC₇, norm at each position", Base: "ssc-lc7-base", Architecture: ssc(func(c *ebssc.Coding) { c.Local = true })},
	{Name: "ssc-lc7-signed-codes", Title: "SSC+LC₇, signed codes", Base: "ssc-lc7-base", Architecture: ssc(func(c *ebssc.Coding) { c.Signed = true })},
	{Name: "ssc-ebc67-top", Title: "SSC+EBC₆₋₇, top energy alone", Base: "ssc-ebc67-base", Architecture: experiments.SevenBlocks{Body: ebssc.SSC, EBC: 6, TopEnergy: true}},
	{Name: "ssc-lc7-dropout", Title: "SSC+LC₇, dropout 0.3", Base: "ssc-lc7-no-dropout", Architecture: plainSSC, Settings: experiments.Settings{ebssc.ParamDropout: 0.3}},
	{Name: "ssc-lc7-no-dropout", Title: "SSC+LC₇, no dropout", Architecture: plainSSC, Settings: experiments.Settings{ebssc.ParamDropout: 0.0}},
	{Name: "ssc-lc7-raw", Title: "SSC+LC₇, no whitening", Base: "ssc-lc7-base", Architecture: plainSSC, Settings: experiments.Settings{experiments.ParamWhiten: false}},
}

// plainSSC is the network of SSC+LC₇, for rows that change a setting.
var plainSSC = experiments.SevenBlocks{Body: ebssc.SSC}

// ssc is the network of SSC+LC₇ with a changed coding.
func ssc(change func(*ebssc.Coding)) experiments.SevenBlocks {
	coding := ebssc.SSC
	change(&coding)
	return experiments.SevenBlocks{Body: coding}
}
