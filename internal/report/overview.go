package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

// Files in the folder of all results.
const (
	paperCSV = "paper.csv"
	// errorsName is the name of the overview of test errors, as CSV and as a figure.
	errorsName = "errors"
)

// WriteOverview writes what belongs to no profile into the folder of all results: paper.csv, the numbers that the paper reports, and the
// overview of the profiles' test errors against the time of training, errors.csv and errors.svg.
func WriteOverview(results string, suite experiments.Suite, profiles []*Profile) error {
	out := output{paperCSV: paperColumns.CSV(suite.PaperNumbers())}
	var rows []RunsRow
	for _, p := range profiles {
		if p.declared.Demo {
			continue
		}
		for _, row := range p.Runs() {
			if inOverview(suite, row.Group[0].Run) {
				rows = append(rows, row)
			}
		}
	}
	if len(rows) > 0 {
		out[errorsName+".csv"] = errorsColumns.CSV(rows)
		drawn, err := errorsChart(suite, rows).Draw()
		if err != nil {
			return fmt.Errorf("drawing the overview of errors: %w", err)
		}
		if err := out.add(errorsName, drawn); err != nil {
			return err
		}
	}
	return out.write(results)
}

// paperColumns are those of paper.csv.
var paperColumns = Columns[experiments.Number]{
	{Name: "experiment", Cell: func(n experiments.Number) string { return n.Experiment }},
	{Name: "quantity", Cell: func(n experiments.Number) string { return n.Quantity }},
	{Name: "value", Cell: func(n experiments.Number) string { return n.Value }},
	{Name: "where", Cell: func(n experiments.Number) string { return n.Where }},
}

// errorsColumns are those of errors.csv. Errors are in percent, hours those of one run; both are means over the seeds.
var errorsColumns = slices.Concat(
	Columns[RunsRow]{
		of[RunsRow]("experiment", func(r record.Record) string { return r.Run.Experiment }),
		of[RunsRow]("width", func(r record.Record) string { return strconv.Itoa(r.Run.Width()) }),
		of[RunsRow]("optimizer", func(r record.Record) string { return fmt.Sprint(r.Run.Settings[experiments.ParamOptimizer]) }),
		{Name: "hours", Cell: func(r RunsRow) string { return decimals(r.hours(), 3) }},
	},
	meanStd[RunsRow]("train_err", 2, trainErr), meanStd[RunsRow]("test_err", 2, testErr),
	Columns[RunsRow]{{Name: "differs", Cell: RunsRow.differs}},
	originColumns[RunsRow](), closingColumns[RunsRow](),
)

// hours that a run of the group took on average.
func (r RunsRow) hours() float64 { return r.Sample(seconds).Mean / 3600 }

// inOverview says whether a run belongs to the overview: a row of the paper's table, or of a study like it, that was trained on all
// training images and measured on all test images.
func inOverview(suite experiments.Suite, run experiments.Run) bool {
	study, _, err := suite.Experiment(run.Experiment)
	return err == nil && study.Report == experiments.Rows && (!study.Ablation || study.LikeTable) && run.HeldOut == 0 && run.TrainImages == run.Dataset.Train && run.TestImages == run.Dataset.Test
}

// onlyScaled says whether the runs differ from the profile's own in their width and epochs alone.
func (r RunsRow) onlyScaled() bool {
	return !slices.ContainsFunc(r.Differences, func(difference string) bool {
		name := differenceIn(difference)
		return name != "width" && name != "epochs"
	})
}

// errorsChart is the test error against hours: a curve for each row and optimizer, through the runs with the recipe's settings, and a line
// for each of the paper's errors.
func errorsChart(suite experiments.Suite, rows []RunsRow) plot.Chart {
	chart := plot.Chart{
		Title: "Test error against the hours of training\n(dots: a width and a number of epochs; dashed: the paper)",
		X:     "hours", Y: "error (% of the test images)", LogX: true,
	}
	for _, e := range suite.Experiments() {
		curve := plot.Curve{Name: e.Title}
		for _, row := range rows {
			if row.Group[0].Run.Experiment == e.Name && row.onlyScaled() {
				curve.Points = append(curve.Points, row.point(row.hours(), testErr))
			}
		}
		if len(curve.Points) == 0 {
			continue
		}
		slices.SortFunc(curve.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
		curve.Level = e.Paper.TestErr
		chart.Curves = append(chart.Curves, curve)
	}
	return chart
}
