package report

import (
	"path/filepath"

	"ebsscgo/experiments"
	"ebsscgo/internal/table"
)

// paperLayout is that of paper.csv.
var paperLayout = table.Layout{Keys: 2, Columns: []string{"experiment", "quantity", "value", "where"}}

// WritePaper writes results/paper.csv, the numbers that the paper reports, from the declarations.
func WritePaper(results string) error {
	var lines []Line
	for _, number := range experiments.PaperNumbers() {
		lines = append(lines, Line{"experiment": number.Experiment, "quantity": number.Quantity, "value": number.Value, "where": number.Where})
	}
	return paperLayout.Write(filepath.Join(results, "paper.csv"), lines)
}
