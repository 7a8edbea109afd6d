package report

import (
	"cmp"
	"fmt"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

func (p *Profile) drawDifferences(study experiments.Study) (plot.Figure, error) {
	here, paper := plot.Curve{Name: "here"}, plot.Curve{Name: "the paper", Hollow: true}
	add := func(curve *plot.Curve, row int, cell Cell) {
		if !cell.empty() {
			curve.Points = append(curve.Points, plot.Point{X: float64(row), Mean: cell.value, Low: cell.low, High: cell.high})
		}
	}
	dots := plot.Dots{Title: "Difference in test error, with 95 % intervals\n" + p.describe(study), Zero: true}
	dots.X = "percentage points (left of 0: fewer errors)"
	for i, c := range p.steps(study) {
		dots.Rows = append(dots.Rows, cmp.Or(c.step, c.title()))
		add(&here, i, estimated(p.Difference(experiments.TestErr, c.subject.Name, c.base.Name), "%.2f"))
		add(&paper, i, c.paper())
	}
	dots.Curves = []plot.Curve{here, paper}
	return dots.Draw(), nil
}

// DrawCurves draws the error on training batches by epoch of the rows of a study.
func (p *Profile) DrawCurves(study experiments.Study) (plot.Figure, error) {
	return plot.Charts(p.chart(study, "Error on training batches", "error (%)", func(e record.Epoch) float64 { return e.BatchErr }))
}

func (p *Profile) drawSweeps(study experiments.Study) (plot.Figure, error) {
	title := fmt.Sprintf("Loss of at most %d training images", experiments.TracedImages)
	loss := p.chart(study, title, "log-loss (nats)", func(e record.Epoch) float64 { return max(e.Trace.TrainLoss, 1e-6) })
	loss.Log = true // it has no 0
	return plot.Charts(loss, p.chart(study, "Test error", "error (%)", func(e record.Epoch) float64 { return e.Trace.TestErr }))
}

// chart has a curve for each row with records: a number of its epochs.
func (p *Profile) chart(study experiments.Study, title, y string, of func(record.Epoch) float64) plot.Chart {
	chart := plot.Chart{Title: title + ", mean and range over seeds\n" + p.describe(study), X: "epoch", Y: y}
	for _, row := range p.Rows(study) {
		if len(row.Records) == 0 {
			continue
		}
		curve := plot.Curve{Name: row.Title}
		for i, epoch := range row.Records[0].Curve {
			curve.Points = append(curve.Points, plot.At(float64(epoch.Epoch), row.values(func(r record.Record) float64 { return of(r.Curve[i]) })...))
		}
		chart.Curves = append(chart.Curves, curve)
	}
	return chart
}
