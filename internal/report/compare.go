package report

import (
	"fmt"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/stats"
)

// Compare puts the rows of two folders of one profile side by side, those that both have records
// of; the title names the studies of which only one has some. It names the rows whose test error is
// higher in b, beyond the interval of Welch's t over seeds. It is an error where no row can be
// compared.
func Compare(a, b *Results) (t Table, worse []string, err error) {
	t = Table{Name: "compare", Columns: []Column{
		{Title: "model"}, {Title: "experiment", Name: "experiment"},
		{Title: "training %: A", Name: "train_err_a", Kind: Mean},
		{Title: "B", Name: "train_err_b", Kind: Mean},
		{Title: "test %: A", Name: "test_err_a", Kind: Mean},
		{Title: "B", Name: "test_err_b", Kind: Mean},
		{Title: "B − A (95 % interval)", Name: "difference", Kind: Interval},
		{Title: "verdict", Name: "verdict"},
	}}
	if a.Name != b.Name {
		return t, nil,
			fmt.Errorf("%s is of profile %s and %s of profile %s: compare two folders of one profile",
				a.Folder, a.Name, b.Folder, b.Name)
	}
	for _, study := range a.Studies {
		for _, rowA := range a.Rows(study) {
			rowB := b.rows[rowA.Name]
			if len(rowA.Records) == 0 || len(rowB.Records) == 0 {
				continue
			}
			if setA, setB := a.Datasets[study.Images], b.Datasets[study.Images]; setA != setB {
				return t, nil, fmt.Errorf("%s is on %s (SHA-256 %.12s) in %s and on %s (SHA-256 %.12s) in %s: "+
					"only rows of the same data set are compared", rowA.Name, setA.Name, setA.SHA256, a.Folder,
					setB.Name, setB.SHA256, b.Folder)
			}
			testA, testB := rowA.Sample(experiments.TestErr), rowB.Sample(experiments.TestErr)
			difference, verdict := stats.Welch(testA, testB), ""
			switch low, high := difference.Interval(); {
			case low > 0:
				verdict, worse = "worse", append(worse, rowA.Name)
			case high < 0:
				verdict = "better"
			}
			t.Rows = append(t.Rows, []Cell{text(rowA.Title), text(rowA.Name),
				mean(rowA.Sample(experiments.TrainErr), 2), mean(rowB.Sample(experiments.TrainErr), 2),
				mean(testA, 2), mean(testB, 2), interval(difference, "%.2f"), text(verdict)})
		}
	}
	for _, side := range [][2]*Results{{a, b}, {b, a}} {
		for _, study := range side[0].Studies {
			if len(side[1].Rows(study)) == 0 {
				t.Title += fmt.Sprintf("study %s is only in %s; ", study.Name, side[0].Folder)
			}
		}
	}
	t.Title = strings.TrimSuffix(t.Title, "; ")
	if len(t.Rows) == 0 {
		return t, nil, fmt.Errorf("%s and %s have no row in common: a row has runs that the "+
			"profile plans, and no trials; ebssc runs --results FOLDER says which are trials",
			a.Folder, b.Folder)
	}
	return t, worse, nil
}
