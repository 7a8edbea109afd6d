package experiments

import "strconv"

// Number is a number that the paper reports.
type Number struct {
	// Experiment that it belongs to; Quantity with its unit; Value as the paper rounds it; Where in the paper.
	Experiment, Quantity, Value, Where string
}

// otherNumbers do not belong to a row of a table.
var otherNumbers = []Number{
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
	for _, e := range s.Experiments() {
		if listed[e.Paper] {
			continue
		}
		listed[e.Paper] = true
		if e.Paper.TrainErr > 0 {
			numbers = append(numbers, Number{e.Name, "train_err_percent", strconv.FormatFloat(e.Paper.TrainErr, 'f', 2, 64), e.Paper.Where})
		}
		numbers = append(numbers, Number{e.Name, "test_err_percent", strconv.FormatFloat(e.Paper.TestErr, 'f', 2, 64), e.Paper.Where})
		if e.Paper.Params != "" {
			numbers = append(numbers, Number{e.Name, "params", e.Paper.Params, e.Paper.Where})
		}
	}
	return append(numbers, otherNumbers...)
}
