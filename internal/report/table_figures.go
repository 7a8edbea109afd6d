package report

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/train"
)

// The figures of a table: how its files' names end.
const (
	curvesSuffix = "curves"
	deltasSuffix = "differences"
)

// mostCurves is how many learning curves can be told apart in one figure: those of the first rows.
const mostCurves = 8

// drawTable draws the learning curves of a table's rows, and how much each row differs from its base. It returns the titles of
// the figures that there is something to show in, by the ends of their files' names.
func drawTable(folder string, study experiments.Study, lines []Line) (drawn map[string]string, err error) {
	var curves []plot.Curve
	for _, l := range lines[:min(mostCurves, len(lines))] {
		curve, err := batchErrors(folder, l)
		if err != nil {
			return nil, err
		}
		if len(curve.Points) > 0 {
			curves = append(curves, curve)
		}
	}
	drawn = map[string]string{}
	draw := func(suffix, title string, figure plot.Figure, err error) error {
		if err != nil {
			return fmt.Errorf("drawing the %s of %s: %w", suffix, study.Name, err)
		}
		drawn[suffix] = title
		return figure.Write(filepath.Join(folder, figurePath(study, suffix)))
	}
	if len(curves) > 0 {
		title := "error on the training images while training"
		figure, err := plot.Chart{
			Title: study.Name + ": " + title + "\n" + subtitle(lines), X: "epoch", Y: "error (% of the images)", Curves: curves,
		}.Draw()
		if err := draw(curvesSuffix, title, figure, err); err != nil {
			return nil, err
		}
	}
	if names, deltas := deltas(lines); len(names) > 0 {
		title := "difference in test error, with its 95% interval"
		figure, err := plot.Dots(study.Name+": "+title+"\n"+subtitle(lines), "percentage points", names, deltas)
		if err := draw(deltasSuffix, title, figure, err); err != nil {
			return nil, err
		}
	}
	return drawn, nil
}

// deltas are how much the rows' test errors differ from those of their bases, by what is compared.
func deltas(lines []Line) (names []string, values plot.Series) {
	for _, l := range lines {
		if l["base"] != "" {
			names = append(names, title(l["experiment"])+" less "+title(l["base"]))
			values.Values = append(values.Values, plot.Value{
				Value: l.Number("delta_base"), Low: l.Number("delta_base_low"), High: l.Number("delta_base_high"),
			})
		}
	}
	return names, values
}

// batchErrors is the learning curve of a row.
func batchErrors(folder string, l Line) (curve plot.Curve, err error) {
	curve.Name = title(l["experiment"])
	seeds, err := strconv.Atoi(l["seeds"])
	if err != nil {
		return curve, fmt.Errorf("seeds of %s: %w", l["experiment"], err)
	}
	for seed := 1; seed <= seeds; seed++ {
		epochs, err := train.ReadCurve(filepath.Join(folder, "curves", fmt.Sprintf("%s-%d.csv", l["experiment"], seed)))
		if err != nil {
			return curve, err
		}
		for i, epoch := range epochs {
			if i == len(curve.Points) {
				curve.Points = append(curve.Points, plot.At(float64(epoch.Epoch), 0))
				curve.Points[i].Low, curve.Points[i].High = math.Inf(1), math.Inf(-1)
			}
			point := &curve.Points[i]
			point.Mean += epoch.BatchErr / float64(seeds)
			point.Low, point.High = min(point.Low, epoch.BatchErr), max(point.High, epoch.BatchErr)
		}
	}
	return curve, nil
}
