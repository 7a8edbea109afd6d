package report

import (
	"path/filepath"

	"ebsscgo/experiments"
)

// WritePaper writes results/paper.csv, the numbers that the paper reports, from the declarations.
func WritePaper(results string) error {
	var lines []Line
	for _, number := range experiments.PaperNumbers() {
		lines = append(lines, Line{"experiment": number.Experiment, "quantity": number.Quantity, "value": number.Value, "where": number.Where})
	}
	return writeCSV(filepath.Join(results, "paper.csv"), []string{"experiment", "quantity", "value", "where"}, lines)
}
