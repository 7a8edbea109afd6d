package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
)

// sweepsFigures are the figures of a study of sweeps: what each shows, in which column, and how its file's name ends.
var sweepsFigures = []struct{ title, axis, column, suffix string }{
	{"training objective", "objective (nats)", "train_objective", "objective"},
	{"test error", "error (fraction of the images)", "test_err", "test_error"},
}

// figurePath is the file of a figure in a profile's folder, without its format's suffix.
func figurePath(study experiments.Study, suffix string) string {
	return "figures/" + study.Name + "_" + suffix
}

// drawSweeps draws the learning curves of a study.
func drawSweeps(folder string, study experiments.Study, epochs, summary []Line) error {
	charts, err := sweepsCharts(folder, study, epochs, summary)
	if err != nil {
		return err
	}
	for i, chart := range charts {
		figure, err := chart.Draw()
		if err != nil {
			return fmt.Errorf("drawing %s of %s: %w", sweepsFigures[i].title, study.Name, err)
		}
		if err := figure.Write(filepath.Join(folder, figurePath(study, sweepsFigures[i].suffix))); err != nil {
			return err
		}
	}
	return nil
}

// ReadSweeps reads the summary of a study of sweeps in a profile's folder: a line for each number of sweeps, as described at its
// layout in unroll_summary.csv. A file that is not there is an empty one.
func ReadSweeps(folder string, study experiments.Study) ([]Line, error) {
	return sweepsLayout.Read(filepath.Join(folder, study.Name+"_summary.csv"))
}

// SweepsCharts are the learning curves of a study of sweeps as they are recorded in a profile's folder, a line for each number
// of sweeps: of the training objective, and of the test error. There are none where nothing is recorded.
func SweepsCharts(folder string, study experiments.Study) ([]plot.Chart, error) {
	epochs, err := epochLayout.Read(filepath.Join(folder, study.Name+".csv"))
	if err != nil || len(epochs) == 0 {
		return nil, err
	}
	summary, err := ReadSweeps(folder, study)
	if err != nil {
		return nil, err
	}
	return sweepsCharts(folder, study, epochs, summary)
}

// sweepsCharts are the charts of sweepsFigures.
func sweepsCharts(folder string, study experiments.Study, epochs, summary []Line) (charts []plot.Chart, err error) {
	for _, f := range sweepsFigures {
		curves, err := sweepsCurves(epochs, f.column)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(folder, study.Name+".csv"), err)
		}
		charts = append(charts, plot.Chart{
			Title: fmt.Sprintf("%s: %s after each epoch\n%s", study.Name, f.title, subtitle(summary)),
			X:     "epoch", Y: f.axis, Log: spansDecade(curves), Curves: curves,
		})
	}
	return charts, nil
}

// subtitle says which images, at which profile and of how many seeds.
func subtitle(summary []Line) string {
	values := func(name func(Line) string) string {
		var all []string
		for _, l := range summary {
			if !slices.Contains(all, name(l)) {
				all = append(all, name(l))
			}
		}
		return strings.Join(all, " and ")
	}
	text := values(func(l Line) string { return dataset.Title(l["dataset"]) }) + ", profile " +
		values(func(l Line) string { return l["profile"] })
	if seeds := values(func(l Line) string { return l["seeds"] }); seeds != "1" {
		text += ", mean of " + seeds + " seeds (band: smallest to largest)"
	}
	return text
}

// sweepsCurves are the values of a column: for each number of sweeps their mean, smallest and largest over the seeds.
func sweepsCurves(epochs []Line, column string) (curves []plot.Curve, err error) {
	values := map[[2]string][]float64{}
	var order [][2]string // sweeps and epochs
	for _, l := range epochs {
		value, err := strconv.ParseFloat(l[column], 64)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column, err)
		}
		at := [2]string{l["sweeps"], l["epoch"]}
		if len(values[at]) == 0 {
			order = append(order, at)
		}
		values[at] = append(values[at], value)
	}
	for _, at := range order {
		epoch, err := strconv.Atoi(at[1])
		if err != nil {
			return nil, fmt.Errorf("column epoch: %w", err)
		}
		if name := sweepsTitle(at[0]); len(curves) == 0 || curves[len(curves)-1].Name != name {
			curves = append(curves, plot.Curve{Name: name})
		}
		curve, seeds := &curves[len(curves)-1], values[at]
		curve.Points = append(curve.Points, plot.Point{
			X: float64(epoch), Mean: stat.Mean(seeds, nil), Low: floats.Min(seeds), High: floats.Max(seeds),
		})
	}
	for _, curve := range curves {
		slices.SortFunc(curve.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
	}
	return curves, nil
}

// sweepsTitle names a number of sweeps as the paper does.
func sweepsTitle(sweeps string) string { return "T = " + sweeps }

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
