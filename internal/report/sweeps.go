package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

// SweepsRow is a number of sweeps T in one setting, compared with one sweep less.
type SweepsRow struct {
	// Group holds the row's records.
	Group
	Experiment experiments.Experiment
	// PaperTestErr is the paper's test error in percent, 0 where it has none for these images.
	PaperTestErr float64
	// Paired is the test of T sweeps against T−1 on the same images; nil where no seed of both is recorded.
	Paired *Paired
}

// Sweeps are the rows of a study of sweeps in one of its settings, as far as they are recorded.
func (p *Profile) Sweeps(study experiments.Study, setting Setting) (rows []SweepsRow, err error) {
	var before Group
	for _, e := range study.Experiments {
		group := setting.Groups[e.Name]
		if group == nil {
			before = nil
			continue
		}
		if !e.Traced {
			return nil, fmt.Errorf("study %s reports learning curves, so its experiment %s must be declared as Traced", study.Name, e.Name)
		}
		row := SweepsRow{Group: group, Experiment: e}
		if setting.Dataset.Name == dataset.MNISTName {
			row.PaperTestErr = e.Paper.TestErr
		}
		if row.Paired, err = pairedTest(group, before); err != nil {
			return nil, err
		}
		rows, before = append(rows, row), group
	}
	return rows, nil
}

// sweepsColumns are those of a summary, such as unroll_summary.csv: all images after the last epoch, the objective in nats and
// errors in percent. fixed, broken, p_value and verdict are of the paired test against T−1, see [McNemar]. The other columns are as
// in a table.
var sweepsColumns = slices.Concat(
	Columns[SweepsRow]{
		of[SweepsRow]("sweeps", sweepsOf),
		{Heading: "Sweeps", Cell: func(r SweepsRow) string { return r.Experiment.Title }},
		withStd[SweepsRow]("train objective", 5, trainObjective), withStd[SweepsRow]("train err. %", 2, trainErr), withStd[SweepsRow]("test err. %", 2, testErr),
	},
	originColumns[SweepsRow](),
	Columns[SweepsRow]{of[SweepsRow]("alpha", alphaOf)},
	meanStd[SweepsRow]("train_objective", 5, trainObjective), meanStd[SweepsRow]("train_err", 2, trainErr), meanStd[SweepsRow]("test_err", 2, testErr),
	Columns[SweepsRow]{
		{Name: "paper_test_err", Heading: "paper: test err. %", Number: true, Cell: func(r SweepsRow) string { return percent(known(r.PaperTestErr)) }},
		ofPaired("fixed", true, func(p Paired) string { return strconv.Itoa(p.Fixed) }),
		ofPaired("broken", true, func(p Paired) string { return strconv.Itoa(p.Broken) }),
		{Name: "p_value", Heading: "p", Number: true, Cell: func(r SweepsRow) string { return r.paired(func(p Paired) string { return pValue(p.P) }) }},
		{Name: "verdict", Heading: "test err. against one sweep less", Cell: func(r SweepsRow) string { return r.paired(Paired.Verdict) }},
	},
	closingColumns[SweepsRow](),
)

// ofPaired is a column about the paired test.
func ofPaired(name string, number bool, cell func(Paired) string) Column[SweepsRow] {
	return Column[SweepsRow]{Name: name, Heading: name, Number: number, Cell: func(r SweepsRow) string { return r.paired(cell) }}
}

// paired is a text about the paired test, empty where there is none.
func (r SweepsRow) paired(text func(Paired) string) string {
	if r.Paired == nil {
		return ""
	}
	return text(*r.Paired)
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
// it without dropout. train_objective is in nats, errors are in percent; both training columns are of the first training images.
// seconds are those of the epoch.
var epochColumns = Columns[epochRow]{
	of[epochRow]("sweeps", sweepsOf),
	of[epochRow]("dataset", func(r record.Record) string { return r.Run.Dataset.Name }),
	of[epochRow]("dataset_sha256", func(r record.Record) string { return r.Run.Dataset.SHA256 }),
	of[epochRow]("backend", func(r record.Record) string { return r.Run.Machine.String() }),
	of[epochRow]("seed", func(r record.Record) string { return strconv.Itoa(r.Run.Seed) }),
	{Name: "epoch", Cell: func(r epochRow) string { return strconv.Itoa(r.epoch.Epoch) }},
	{Name: "train_objective", Cell: func(r epochRow) string { return decimals(r.epoch.Trace.Objective, 5) }},
	{Name: "train_err", Cell: func(r epochRow) string { return percent(r.epoch.Trace.TrainErr) }},
	{Name: "test_err", Cell: func(r epochRow) string { return percent(r.epoch.Trace.TestErr) }},
	{Name: "seconds", Cell: func(r epochRow) string { return percent(r.epoch.Seconds) }},
}

// reportSweeps adds the learning curves, the summary, the figures and the Markdown of a study of sweeps.
func (p *Profile) reportSweeps(out output, study experiments.Study, settings []Setting) error {
	var all []SweepsRow
	var epochs []epochRow
	var blocks []block
	for i, setting := range settings {
		rows, err := p.Sweeps(study, setting)
		if err != nil {
			return err
		}
		all = append(all, rows...)
		for _, row := range rows {
			for _, r := range row.Group {
				for _, epoch := range r.Curve {
					epochs = append(epochs, epochRow{Group{r}, epoch})
				}
			}
		}
		b := block{setting: setting, table: sweepsColumns.Markdown(rows), notes: sweepsNotes(rows)}
		if i == 0 {
			if b.figures, err = p.drawSweeps(out, study); err != nil {
				return err
			}
		}
		blocks = append(blocks, b)
	}
	out[study.Name+".csv"], out[study.Name+summarySuffix] = epochColumns.CSV(epochs), sweepsColumns.CSV(all)
	out[Summary(study)] = markdown(fmt.Sprintf("Sweeps of inference at profile `%s`: %s", p.Name, study.About), blocks)
	return nil
}

// sweepsFigures are the figures of a study of sweeps: what each shows, and how the names of its files end.
var sweepsFigures = []struct {
	title, axis, suffix string
	quantity            func(record.Epoch) float64
}{
	{"training objective", "objective (nats)", "objective", func(e record.Epoch) float64 { return e.Trace.Objective }},
	{"test error", "error (% of the images)", "test_error", func(e record.Epoch) float64 { return e.Trace.TestErr }},
}

// drawSweeps draws the charts of a study.
func (p *Profile) drawSweeps(out output, study experiments.Study) (figures []figure, err error) {
	charts, err := p.SweepsCharts(study)
	if err != nil {
		return nil, err
	}
	for i, chart := range charts {
		drawn, err := chart.Draw()
		if err != nil {
			return nil, fmt.Errorf("drawing the %s of %s: %w", sweepsFigures[i].title, study.Name, err)
		}
		if figures, err = out.draw(figures, study, sweepsFigures[i].suffix, sweepsFigures[i].title, drawn); err != nil {
			return nil, err
		}
	}
	return figures, nil
}

// SweepsCharts are the learning curves of a study of sweeps in its first setting, a line for each number of sweeps: of the training
// objective, and of the test error. There are none where nothing is recorded.
func (p *Profile) SweepsCharts(study experiments.Study) (charts []plot.Chart, err error) {
	if len(p.settings[study.Name]) == 0 {
		return nil, nil
	}
	setting := p.settings[study.Name][0]
	rows, err := p.Sweeps(study, setting)
	if err != nil {
		return nil, err
	}
	for _, f := range sweepsFigures {
		var curves []plot.Curve
		for _, row := range rows {
			curves = append(curves, row.curve(row.Experiment.Title, f.quantity))
		}
		charts = append(charts, plot.Chart{
			Title: fmt.Sprintf("%s: %s after each epoch\n%s", study.Name, f.title, p.subtitle(setting)),
			X:     "epoch", Y: f.axis, Log: spansDecade(curves), Curves: curves,
		})
	}
	return charts, nil
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

// sweepsNotes say how the rows were got and what the columns mean.
func sweepsNotes(rows []SweepsRow) []string {
	var runs []provenance
	var alphas []string
	paper := false
	for _, row := range rows {
		runs = append(runs, provenance{row.Group, len(row.Group), fmt.Sprintf("%s in %s s", row.Experiment.Title, allSeconds(row.Group))})
		if alpha := alphaOf(row.Group[0]); !slices.Contains(alphas, alpha) {
			alphas = append(alphas, alpha)
		}
		paper = paper || row.PaperTestErr != 0
	}
	notes := append(provenanceNotes(runs),
		fmt.Sprintf("The training objective is Eq. (train_obj2) in nats with α = %s. It and the errors are of all images, without dropout, "+
			"after the last epoch; the figures' training objective is of the first training images.", strings.Join(alphas, " and ")),
		fmt.Sprintf("Fixed are the test images on which fewer seeds err than with one sweep less, broken those on which more do; p is of "+
			"McNemar's exact test of the two counts, and a difference is called one where it is below %g.", Significance))
	if paper {
		notes = append(notes, "The paper leaves the network of this study open: its numbers are of another one.")
	}
	return notes
}
