package experiments

import (
	"strconv"

	"ebsscgo/ebssc"
)

// Number is a number that the paper reports.
type Number struct {
	// Experiment that it belongs to; Quantity with its unit; Value as the paper rounds it; Where in the paper.
	Experiment, Quantity, Value, Where string
}

// commentedOut are rows that the paper's source has commented out of its Table 2.
var commentedOut = []Experiment{
	{Name: "crelu-avg-lc7", Title: "CReLU(avg)+LC₇", Architecture: SevenBlocks{Body: ebssc.CReLU, AveragePool: true}, Paper: Paper{1.16, 11.01, "2.6M", inSource}},
	{Name: "crelu-ebc7", Title: "CReLU(max)+EBC₇", Architecture: SevenBlocks{Body: ebssc.CReLU, EBC: 7}, Paper: Paper{0.63, 10.49, "2.9M", inSource}},
	{Name: "ssc-avg-lc7", Title: "SSC(avg)+LC₇", Architecture: SevenBlocks{Body: ebssc.SSC, AveragePool: true}, Paper: Paper{1.52, 11.84, "2.6M", inSource}},
	{Name: "ssc-avg-ebc7", Title: "SSC(avg)+EBC₇", Architecture: SevenBlocks{Body: ebssc.SSC, EBC: 7, AveragePool: true}, Paper: Paper{3.91, 13.64, "2.9M", inSource}},
	{Name: "ssc-avg-ebc17", Title: "SSC(avg)+EBC₁₋₇", Architecture: SevenBlocks{Body: ebssc.SSC, EBC: 1, AveragePool: true}, Paper: Paper{3.24, 15.62, "10.1M", inSource}},
}

const inSource = "Table 2, commented out in the source"

// otherNumbers are those that do not belong to a row of the seven-block network as it is declared here.
var otherNumbers = []Number{
	{"ssc-lc7-unrolled", "train_err_percent", "3.27", inSource},
	{"ssc-lc7-unrolled", "test_err_percent", "13.41", inSource},
	{"ssc-lc7-unrolled", "params", "2.6M", inSource},
	{"unroll", "test_err_fraction_0_sweeps", "0.0131", "Sec. 3.1.1"},
	{"unroll", "test_err_fraction_1_sweep", "0.0074", "Sec. 3.1.1"},
	{"ssc-lc7", "beta_better", "0.001", "Sec. 4.1"},
	{"ssc-lc7", "beta_worse", "0.01", "Sec. 4.1"},
	{"all", "dropout_rate", "0.3", "Sec. 4"},
	{"all", "flip_probability", "0.5", "Sec. 4"},
	{"all", "alpha", "0", "Sec. 4"},
}

// PaperNumbers are all numbers that the paper reports of its experiments, the commented-out ones of its source included.
func PaperNumbers() (numbers []Number) {
	for _, row := range append(append([]Experiment(nil), Table...), commentedOut...) {
		if row.Paper == (Paper{}) {
			continue
		}
		numbers = append(numbers,
			Number{row.Name, "train_err_percent", strconv.FormatFloat(row.Paper.TrainErr, 'f', 2, 64), row.Paper.Where},
			Number{row.Name, "test_err_percent", strconv.FormatFloat(row.Paper.TestErr, 'f', 2, 64), row.Paper.Where},
			Number{row.Name, "params", row.Paper.Params, row.Paper.Where},
		)
	}
	return append(numbers, otherNumbers...)
}
