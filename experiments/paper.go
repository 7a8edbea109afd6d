package experiments

import "strconv"

// Number is a number that the paper reports.
type Number struct {
	// Experiment that it belongs to; Quantity with its unit; Value as the paper rounds it; Where in the paper.
	Experiment, Quantity, Value, Where string
}

// otherNumbers do not belong to a row of a table.
var otherNumbers = []Number{
	{"unroll-0", "test_err_percent", "1.31", "Sec. 3.1.1"},
	{"unroll-1", "test_err_percent", "0.74", "Sec. 3.1.1"},
	{"ssc-lc7", "beta_better", "0.001", "Sec. 4.1"},
	{"ssc-lc7", "beta_worse", "0.01", "Sec. 4.1"},
	{"all", "dropout_rate", "0.3", "Sec. 4"},
	{"all", "flip_probability", "0.5", "Sec. 4"},
	{"all", "alpha", "0", "Sec. 4"},
}

// PaperNumbers returns all numbers that the paper reports of the suite's experiments. A row that stands in two studies is listed
// once.
func (s Suite) PaperNumbers() (numbers []Number) {
	listed := map[Paper]bool{{}: true}
	for _, study := range s {
		if study.Report != Rows {
			continue
		}
		for _, row := range study.Experiments {
			if listed[row.Paper] {
				continue
			}
			listed[row.Paper] = true
			numbers = append(numbers,
				Number{row.Name, "train_err_percent", strconv.FormatFloat(row.Paper.TrainErr, 'f', 2, 64), row.Paper.Where},
				Number{row.Name, "test_err_percent", strconv.FormatFloat(row.Paper.TestErr, 'f', 2, 64), row.Paper.Where},
				Number{row.Name, "params", row.Paper.Params, row.Paper.Where},
			)
		}
	}
	return append(numbers, otherNumbers...)
}
