package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// sweepsReport reports inference with several numbers of sweeps.
var sweepsReport = rowReport{summary: summarySuffix, columns: sweepsColumns, notes: sweepsNotes, draw: drawSweeps}

// sweepsColumns are those of a summary, such as unroll_summary.csv: all images after the last epoch, the log-loss in nats and
// errors in percent. chosen are the settings that it has for itself, see [experiments.Experiment]. delta_base is the difference in test error
// to one sweep less, with its interval and method as in a table; fixed, broken and mcnemar_p are of the paired test of the two on the test
// images, see [stats.McNemar]. The other columns are as in a table.
var sweepsColumns = slices.Concat(
	Columns[Row]{
		of[Row]("sweeps", sweepsOf),
		{Heading: "Sweeps", Cell: func(r Row) string { return r.Experiment.Title }},
		withStd[Row]("train loss", 5, trainLoss), withStd[Row]("train err. %", 2, trainErr), withStd[Row]("test err. %", 2, testErr),
	},
	originColumns[Row](),
	Columns[Row]{of[Row]("alpha", alphaOf)},
	meanStd[Row]("train_loss", 5, trainLoss), meanStd[Row]("train_err", 2, trainErr), meanStd[Row]("test_err", 2, testErr),
	Columns[Row]{
		{Name: "paper_test_err", Heading: "paper: test err. %", Number: true, Cell: func(r Row) string { return percent(known(r.Paper.TestErr)) }},
		ofPaired("fixed", "newly right", func(p stats.Paired) string { return strconv.Itoa(p.Fixed) }),
		ofPaired("broken", "newly wrong", func(p stats.Paired) string { return strconv.Itoa(p.Broken) }),
		ofDelta("mcnemar_p", "McNemar p", func(r Row) string { return r.Delta.pValue() }),
		{Heading: "test err. minus that of T − 1 (95 % interval)", Cell: Row.deltaText},
	},
	deltaColumns,
	Columns[Row]{{Name: "chosen", Heading: "chosen on held-out images", Cell: func(r Row) string { return r.Experiment.Chosen.String() }}},
	closingColumns[Row](),
)

// ofPaired is a column about the paired test, empty where there is none.
func ofPaired(name, heading string, cell func(stats.Paired) string) Column[Row] {
	return ofDelta(name, heading, func(r Row) string {
		if r.Delta.Paired == nil {
			return ""
		}
		return cell(*r.Delta.Paired)
	})
}

// sweepsOf is T of a run.
func sweepsOf(r record.Record) string { return strconv.Itoa(r.Run.Network.Sweeps) }

// alphaOf is α of a run's training objective.
func alphaOf(r record.Record) string { return fmt.Sprint(r.Run.Settings[ebssc.ParamAlpha]) }

// epochRow is an epoch of a traced run.
type epochRow struct {
	Group // the run alone
	epoch record.Epoch
}

// epochColumns are those of the learning curves of a study of sweeps, such as unroll.csv: a line an epoch of a run, measured after
// it without dropout. train_loss is in nats, errors are in percent; both training columns are of the first training images.
// seconds are those of the epoch.
var epochColumns = Columns[epochRow]{
	of[epochRow]("sweeps", sweepsOf),
	of[epochRow]("dataset", func(r record.Record) string { return r.Run.Dataset.Name }),
	of[epochRow]("dataset_sha256", func(r record.Record) string { return r.Run.Dataset.SHA256 }),
	of[epochRow]("backend", func(r record.Record) string { return r.Run.Machine.String() }),
	of[epochRow]("seed", func(r record.Record) string { return strconv.Itoa(r.Run.Seed) }),
	{Name: "epoch", Cell: func(r epochRow) string { return strconv.Itoa(r.epoch.Epoch) }},
	{Name: "train_loss", Cell: func(r epochRow) string { return decimals(r.Group[0].TracedLoss(r.epoch), 5) }},
	{Name: "train_err", Cell: func(r epochRow) string { return percent(r.epoch.Trace.TrainErr) }},
	{Name: "test_err", Cell: func(r epochRow) string { return percent(r.epoch.Trace.TestErr) }},
	{Name: "seconds", Cell: func(r epochRow) string { return decimals(r.epoch.Seconds, 2) }},
}

// epochRows are the epochs of all runs of the rows.
func epochRows(rows []Row) (epochs []epochRow) {
	for _, row := range rows {
		for _, r := range row.Group {
			for _, epoch := range r.Curve {
				epochs = append(epochs, epochRow{Group{r}, epoch})
			}
		}
	}
	return epochs
}

// sweepsFigures are the figures of a study of sweeps: what each shows, and how the names of its files end.
var sweepsFigures = []struct {
	title, axis, suffix string
	unit                unit
	quantity            func(record.Record, record.Epoch) float64
}{
	{"training loss", "log-loss (nats)", "train_loss", nats, record.Record.TracedLoss},
	{"test error", "error (% of the images)", "test_error", percentages, func(_ record.Record, e record.Epoch) float64 { return e.Trace.TestErr }},
}

// drawSweeps draws the charts of a study.
func drawSweeps(p *Profile, out output, study experiments.Study, setting Setting, rows []Row) (figures []figure, err error) {
	for i, chart := range p.sweepsCharts(study, setting, rows) {
		f := sweepsFigures[i]
		drawn, err := chart.First().Draw()
		if err != nil {
			return nil, fmt.Errorf("drawing the %s of %s: %w", f.title, study.Name, err)
		}
		if figures, err = out.draw(figures, study, f.suffix, f.title, drawn, curvesChart(chart, f.title+" after each epoch\n"+p.subtitle(setting, rows, seedsBand), f.unit)); err != nil {
			return nil, err
		}
	}
	return figures, nil
}

// SweepsCharts are the learning curves of a study of sweeps in its first setting, a line for each number of sweeps: of the training
// loss, and of the test error. There are none where nothing is recorded.
func (p *Profile) SweepsCharts(study experiments.Study) ([]plot.Chart, error) {
	if len(p.settings[study.Name]) == 0 {
		return nil, nil
	}
	setting := p.settings[study.Name][0]
	rows, err := p.Rows(study, setting)
	if err != nil {
		return nil, err
	}
	return p.sweepsCharts(study, setting, rows), nil
}

// sweepsCharts are the charts of a setting's rows, one for each of sweepsFigures.
func (p *Profile) sweepsCharts(study experiments.Study, setting Setting, rows []Row) (charts []plot.Chart) {
	for _, f := range sweepsFigures {
		var curves []plot.Curve
		for _, row := range rows {
			curves = append(curves, row.curve(row.Experiment.Title, f.quantity))
		}
		charts = append(charts, plot.Chart{
			Title: fmt.Sprintf("%s: %s after each epoch\n%s", study.Name, f.title, p.subtitle(setting, rows, seedsBand)),
			X:     "epoch", Y: f.axis, Log: spansDecade(curves), Curves: curves,
		})
	}
	return charts
}

// spansDecade says whether a logarithmic axis shows the curves better: positive values of which one is ten times another.
func spansDecade(curves []plot.Curve) bool {
	var all []float64
	for _, curve := range curves {
		for _, point := range curve.Points {
			all = append(all, point.Low, point.High)
		}
	}
	low, high := floats.Min(all), floats.Max(all)
	return low > 0 && high >= 10*low
}

// sweepsNotes say what the columns mean.
func sweepsNotes(_ string, rows []Row) []string {
	var alphas []string
	for _, row := range rows {
		alphas = append(alphas, alphaOf(row.Group[0]))
	}
	slices.Sort(alphas)
	notes := append([]string{
		fmt.Sprintf("The training loss is the mean log-loss in nats: the objective of Eq. 16 without its penalty (α = %s). It and the errors "+
			"are of all images, without dropout, after the last epoch; the figures' training loss is of the first training images.",
			strings.Join(slices.Compact(alphas), " or ")),
		"Newly right are the test images on which fewer seeds err than with one sweep less, newly wrong those on which more do; p is of McNemar's exact " +
			"test of the two counts. It knows the test images and not how much seeds vary, so the interval beside it decides.",
	}, intervalNotes(rows)...)
	if hasPaper(rows) {
		notes = append(notes, "The paper describes neither the network nor the images of this study: its numbers are of others.")
	}
	return notes
}
