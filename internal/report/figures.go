package report

import (
	"fmt"
	"math"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

// scale says at what size a study was run: for the titles of figures.
func (p *Profile) scale(study experiments.Study) string {
	scale := p.Scales[study.Name]
	for _, row := range p.Rows(study) {
		if len(row.Records) > 0 {
			run := row.Records[0].Run
			return fmt.Sprintf("width %d, %d training and %d test images, %d epochs, %s",
				scale.Width, run.TrainImages, run.TestImages, run.Epochs, seeds(row.Planned))
		}
	}
	return ""
}

func (p *Profile) drawDifferences(study experiments.Study) (plot.Figure, error) {
	d := plot.Dots{
		Title: "Difference in test error, with its 95 % interval\n" + study.Name + ": " + p.scale(study),
		X:     "percentage points (below 0 the first row is better)", Zero: true,
	}
	ours, paper := plot.Series{Name: "here"}, plot.Series{Name: "the paper", Hollow: true}
	for _, c := range p.steps(study) {
		d.Rows = append(d.Rows, c.title())
		here := p.Difference(experiments.TestErr, c.subject.Name, c.base.Name)
		low, high := here.Interval()
		ours.Values = append(ours.Values, plot.Value{Value: here.Value, Low: low, High: high})
		value := plot.Value{Value: math.NaN()}
		if cell := c.paper(); !cell.empty() {
			value = plot.Value{Value: cell.value, Low: cell.low, High: cell.high}
		}
		paper.Values = append(paper.Values, value)
	}
	d.Series = []plot.Series{ours, paper}
	return d.Draw()
}

func (p *Profile) drawCurves(study experiments.Study) (plot.Figure, error) {
	chart := plot.Chart{
		Title: "Error on the training images while training, mean and range over seeds\n" + study.Name + ": " + p.scale(study), X: "epoch", Y: "error (%)",
		Curves: p.curves(study, func(e record.Epoch) float64 { return e.BatchErr }),
	}
	return chart.Draw()
}

func (p *Profile) drawSweeps(study experiments.Study) (plot.Figure, error) {
	loss := plot.Chart{
		Title: "Training loss, mean and range over seeds\n" + study.Name + ": " + p.scale(study), X: "epoch", Y: "log-loss (nats)", Log: true,
		Curves: p.curves(study, func(e record.Epoch) float64 { return max(e.Trace.TrainLoss, 1e-6) }), // a logarithmic axis has no 0
	}
	test := plot.Chart{
		Title: "Test error, mean and range over seeds\n" + study.Name + ": " + p.scale(study), X: "epoch", Y: "error (%)",
		Curves: p.curves(study, func(e record.Epoch) float64 { return e.Trace.TestErr }),
	}
	for i := range loss.Curves {
		loss.Curves[i].Name = "" // the other panel's legend is for both
	}
	return plot.Charts(loss, test)
}

func (p *Profile) curves(study experiments.Study, of func(record.Epoch) float64) (curves []plot.Curve) {
	for _, row := range p.Rows(study) {
		if len(row.Records) == 0 {
			continue
		}
		curve := plot.Curve{Name: row.Title}
		for i, epoch := range row.Records[0].Curve {
			point := plot.Point{X: float64(epoch.Epoch), Low: math.Inf(1), High: math.Inf(-1)}
			for _, r := range row.Records {
				value := of(r.Curve[i])
				point.Low, point.High = min(point.Low, value), max(point.High, value)
				point.Mean += value / float64(len(row.Records))
			}
			curve.Points = append(curve.Points, point)
		}
		curves = append(curves, curve)
	}
	return curves
}
