package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// tables reports rows of the paper's table, and ablations.
var tables = rowReport{summary: ".csv", columns: rowColumns, notes: rowNotes, draw: drawRows}

// rowColumns are those of a table, such as table.csv and table.md. Errors are in percent; *_std is the standard deviation over
// seeds, empty for a single one; test_err_low and test_err_high are its 95 % interval, see testInterval, and paper_within says whether
// the paper's error lies in it; seconds are those of a run, the median over the seeds. base is the row that one is compared with, where it
// is recorded: delta_base is the difference in test error, in percentage points, with its 95 % interval by delta_method (see [Measured]), and
// mcnemar_p is of McNemar's test on the test images.
var rowColumns = slices.Concat(
	Columns[Row]{
		{Name: "experiment", Cell: func(r Row) string { return r.Experiment.Name }},
		{Heading: "Model", Cell: func(r Row) string { return r.Experiment.Title }},
		withStd[Row]("train err. %", 2, trainErr), withStd[Row]("test err. %", 2, testErr),
		{Heading: "base", Cell: Row.baseText},
		{Heading: "test err. minus the base's (95 % interval)", Cell: Row.deltaText},
	},
	originColumns[Row](),
	Columns[Row]{
		of[Row]("params", func(r record.Record) string { return strconv.Itoa(r.Parameters) }),
		{Heading: "# params", Number: true, Cell: func(r Row) string { return millions(r.Group[0].Parameters) }},
		{Name: "paper_params", Cell: func(r Row) string { return r.Paper.Params }},
	},
	meanStd[Row]("train_err", 2, trainErr), meanStd[Row]("test_err", 2, testErr),
	Columns[Row]{
		{Name: "test_err_low", Cell: func(r Row) string { return percent(r.testInterval().Low) }},
		{Name: "test_err_high", Cell: func(r Row) string { return percent(r.testInterval().High) }},
		{Name: "paper_within", Cell: func(r Row) string { return r.testInterval().Holds(known(r.Paper.TestErr)) }},
		{Name: "paper_train_err", Heading: "paper: train err. %", Number: true, Cell: func(r Row) string { return percent(known(r.Paper.TrainErr)) }},
		{Name: "paper_test_err", Heading: "paper: test err. %", Number: true, Cell: func(r Row) string { return percent(known(r.Paper.TestErr)) }},
		{Heading: "paper: # params", Number: true, Cell: func(r Row) string { return r.Paper.Params }},
		{Name: "minus_paper", Cell: func(r Row) string { return percent(r.Sample(testErr).Mean - known(r.Paper.TestErr)) }},
		ofDelta("base", "", func(r Row) string { return r.Experiment.Base }),
	},
	deltaColumns,
	Columns[Row]{ofDelta("mcnemar_p", "", func(r Row) string { return r.Delta.pValue() })},
	closingColumns[Row](),
)

// deltaColumns are the difference in test error to the base, in percentage points, with its 95 % interval and the
// method.
var deltaColumns = Columns[Row]{
	ofDelta("delta_base", "", func(r Row) string { return percent(r.Delta.Value) }),
	ofDelta("delta_base_low", "", func(r Row) string { return percent(r.Delta.Interval.Low) }),
	ofDelta("delta_base_high", "", func(r Row) string { return percent(r.Delta.Interval.High) }),
	ofDelta("delta_method", "", func(r Row) string { return r.Delta.Method.Text(r.Delta.Count) }),
}

// baseText names the base, or says how to train it.
func (r Row) baseText() string {
	if r.Base.Name != "" && !r.Compared() {
		return fmt.Sprintf("%s: base not trained: `%s`", r.Base.Title, r.BaseCommand)
	}
	return r.Base.Title
}

// testInterval is the 95 % interval of the test error, in percent: Student's over seeds, or Wilson's over the test images of a single seed.
func (r Row) testInterval() stats.Interval {
	s := r.Sample(testErr)
	if s.N > 1 {
		return stats.Student(s).Interval()
	}
	return stats.Wilson(stats.Proportion{Rate: s.Mean / 100, Of: r.Group[0].Run.TestImages}).Scaled(100)
}

// deltaText is the difference to the base with its interval.
func (r Row) deltaText() string {
	switch {
	case !r.Compared():
		return ""
	case !r.Delta.Interval.Known():
		return minus(percent(r.Delta.Value))
	default:
		return minus(fmt.Sprintf("%.2f (%.2f to %.2f)", r.Delta.Value, r.Delta.Interval.Low, r.Delta.Interval.High))
	}
}

// millions prints a number of parameters as the paper does, and exactly where a tenth of a million says little.
func millions(count int) string {
	if count < 1e6 {
		return strconv.Itoa(count)
	}
	return strconv.FormatFloat(math.Round(float64(count)/1e5)/10, 'f', 1, 64) + "M"
}

// rowNotes say what the columns mean.
func rowNotes(profile string, rows []Row) []string {
	var notes []string
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Base.Name != "" }) {
		notes = append(notes, "Differences are in percentage points.")
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return len(r.Group) > 1 }) {
		notes = append(notes, "± is the standard deviation over seeds. Intervals over seeds are for these test images and leave out how much others "+
			"would vary.")
	}
	notes = append(notes, intervalNotes(rows)...)
	notes = append(notes, repeatNotes(rows)...)
	if profile != "paper" && hasPaper(rows) {
		notes = append(notes, "The paper's numbers are of its full width, all 50,000 official images, with dropout, and a training whose length it does not say; "+
			"this profile is smaller, so compare the rows with one another, not with the paper's columns.")
	}
	return notes
}

// intervalNotes say what the intervals of differences are over, where that is not the rows' own seeds.
func intervalNotes(rows []Row) (notes []string) {
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Delta.Method == MethodPaired }) {
		notes = append(notes, "The interval of a single seed is over the test images (Bonett and Price, paired); it leaves out how much seeds vary.")
	}
	var pooled []string
	for _, r := range rows {
		if at := "`" + r.Delta.Method.Pooled + "`"; at != "``" && !slices.Contains(pooled, at) {
			pooled = append(pooled, at)
		}
	}
	if len(pooled) > 0 {
		notes = append(notes, fmt.Sprintf("Where a row has fewer than %d seeds, the interval takes the deviation between seeds of rows at %s for its own.",
			leastSeeds, strings.Join(pooled, " or ")))
	}
	return notes
}

// repeatNotes name rows that a profile's settings make the same as a row above, as a row without dropout is where no row has any.
func repeatNotes(rows []Row) (notes []string) {
	for i, row := range rows {
		above := slices.IndexFunc(rows[:i], func(other Row) bool {
			a, b := row.Group[0].Run, other.Group[0].Run
			return reflect.DeepEqual(a.Network, b.Network) && maps.Equal(a.Settings, b.Settings) && a.TrainImages == b.TrainImages && a.Epochs == b.Epochs
		})
		if above >= 0 {
			notes = append(notes, fmt.Sprintf("%s is the same as %s at this profile: what they differ by are seeds, and rounding on other processors.",
				row.Experiment.Title, rows[above].Experiment.Title))
		}
	}
	return notes
}

// curveColumns are those of a learning curve: means over an epoch's batches while training, loss in nats and error in percent.
var curveColumns = Columns[record.Epoch]{
	{Name: "epoch", Cell: func(e record.Epoch) string { return strconv.Itoa(e.Epoch) }},
	{Name: "step", Cell: func(e record.Epoch) string { return strconv.Itoa(e.Step) }},
	{Name: "batch_loss", Cell: func(e record.Epoch) string { return decimals(e.BatchLoss, 5) }},
	{Name: "batch_err", Cell: func(e record.Epoch) string { return decimals(e.BatchErr, 3) }},
	{Name: "seconds", Cell: func(e record.Epoch) string { return decimals(e.Seconds, 2) }},
}

// The figures of a table: how the names of their files end.
const (
	curvesSuffix = "curves"
	deltasSuffix = "differences"
)

// drawRows draws the learning curves of a table's rows, and how much each row differs from its base. It adds the curves as CSV files, too.
func drawRows(p *Profile, out output, study experiments.Study, setting Setting, rows []Row) (figures []figure, err error) {
	for _, row := range rows {
		if !study.Has(row.Experiment.Name) {
			continue // its own study writes them
		}
		for _, run := range row.Group {
			out[fmt.Sprintf("%s/%s-%d.csv", curvesFolder, run.Run.Experiment, run.Run.Seed)] = curveColumns.CSV(run.Curve)
		}
	}
	var curves []plot.Curve
	for _, row := range rows {
		curves = append(curves, row.curve(row.Experiment.Title, func(_ record.Record, e record.Epoch) float64 { return e.BatchErr }))
	}
	title := "error on the training images while training"
	subtitle := "\n" + p.subtitle(setting, rows, seedsBand)
	chart := plot.Chart{Title: study.Name + ": " + title + subtitle, X: "epoch", Y: "error (% of the images)", Curves: curves}
	same := curvesChart(chart, title+subtitle, percentages) // all of them: on the page rows can be switched off
	drawn, err := chart.First().Draw()
	if err != nil {
		return nil, fmt.Errorf("drawing the curves of %s: %w", study.Name, err)
	}
	if figures, err = out.draw(figures, study, curvesSuffix, title, drawn, same); err != nil {
		return nil, err
	}
	compared := slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return !row.Compared() })
	if len(compared) == 0 {
		return figures, nil
	}
	slices.SortStableFunc(compared, func(a, b Row) int { return cmp.Compare(a.Delta.Value, b.Delta.Value) })
	var names []string
	var deltas plot.Series
	for _, row := range compared {
		names = append(names, row.Experiment.Title+" minus "+row.Base.Title)
		deltas.Values = append(deltas.Values, plot.Value{Value: row.Delta.Value, Low: row.Delta.Interval.Low, High: row.Delta.Interval.High})
	}
	title, subtitle = "difference in test error, with its 95 % interval", "\n"+p.subtitle(setting, rows, "")
	if drawn, err = plot.Dots(study.Name+": "+title+subtitle, "percentage points (left of 0: fewer errors than the base)", names, deltas); err != nil {
		return nil, fmt.Errorf("drawing the differences of %s: %w", study.Name, err)
	}
	return out.draw(figures, study, deltasSuffix, title, drawn, deltasChart(title+"\nleft of 0: fewer errors than the base", compared))
}
