package report

import (
	"cmp"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

func (p *Results) drawDifferences(study experiments.Study) (plot.Figure, error) {
	here, paper := plot.Curve{Name: "here"}, plot.Curve{Name: "the paper", Hollow: true}
	add := func(curve *plot.Curve, row int, cell Cell) {
		if !cell.empty() {
			curve.Points = append(curve.Points, plot.Point{X: float64(row), Mean: cell.value, Low: cell.low,
				High: cell.high})
		}
	}
	dots := plot.Dots{Title: "Differences in test error: " + p.named(study), Zero: true}
	dots.X = "points, with 95 % intervals (left of 0: fewer errors)"
	for i, d := range p.differences(study) {
		dots.Rows = append(dots.Rows, cmp.Or(d.adds, d.title()))
		_, both := p.Difference(d.subject.Name, d.base.Name)
		add(&here, i, estimated(both, "%.2f"))
		add(&paper, i, d.paper())
	}
	dots.Curves = []plot.Curve{here, paper}
	return dots.Draw(), nil
}

// DrawCurves draws the error on training batches by epoch of the rows of a study.
func (p *Results) DrawCurves(study experiments.Study) (plot.Figure, error) {
	chart := p.chart(study, "Error on training batches", "error (%)",
		func(e record.Epoch) float64 { return e.BatchErr })
	return plot.Charts(chart)
}

// drawSweeps draws loss and test error by epoch of a study that is measured after each epoch.
func (p *Results) drawSweeps(study experiments.Study) (plot.Figure, error) {
	loss := p.chart(study, "Training loss", "log-loss (nats)",
		func(e record.Epoch) float64 { return max(e.Trace.TrainLoss, 1e-6) })
	loss.Log = true // it has no 0
	test := p.chart(study, "Test error", "error (%)",
		func(e record.Epoch) float64 { return e.Trace.TestErr })
	test.Ends = true
	return plot.Charts(loss, test)
}

// named says which results of a study a figure shows, in a few words.
func (p *Results) named(study experiments.Study) string { return study.Name + " at " + p.Name }

// chart has a curve for each row with records: a number of its epochs, mean and range over seeds.
func (p *Results) chart(study experiments.Study, title, y string,
	value func(record.Epoch) float64) plot.Chart {
	chart := plot.Chart{Title: title + ": " + p.named(study), X: "epoch", Y: y}
	for _, row := range p.Rows(study) {
		if len(row.Records) == 0 {
			continue
		}
		curve := plot.Curve{Name: row.Title}
		for i, epoch := range row.Records[0].Curve {
			values := row.values(func(r record.Record) float64 { return value(r.Curve[i]) })
			curve.Points = append(curve.Points, plot.At(float64(epoch.Epoch), values...))
		}
		chart.Curves = append(chart.Curves, curve)
	}
	return chart
}

// drawDecodings draws what the decodings of a row are from block to block, by the linear and by the
// rectified decoder, as trained and before training: the cosine between image and reconstruction,
// beside its control as a band, the class difference and the spread of class biases.
func (p *Results) drawDecodings(row Row) (plot.Figure, error) {
	of := ": " + row.Title + " at " + p.Name
	fidelity := func(title string, decoder func(record.BlockMeasures) record.Similarity) plot.Chart {
		chart := plot.Chart{Title: title, X: "block", Y: "cosine with the image"}
		for _, trained := range []bool{true, false} {
			curve, control := plot.Curve{Name: trainedWord(trained)}, plot.Curve{}
			row.eachBlock(trained, func(block int, levels []record.BlockMeasures) {
				cosines := valuesOf(levels,
					func(l record.BlockMeasures) *float64 { return new(decoder(l).Cosine) })
				controls := valuesOf(levels,
					func(l record.BlockMeasures) *float64 { return new(decoder(l).Control) })
				curve.Points = append(curve.Points, plot.At(float64(block), cosines...))
				point := plot.At(float64(block), controls...)
				control.Points = append(control.Points, plot.Point{X: point.X, Mean: point.Mean,
					High: point.Mean})
			})
			if len(curve.Points) > 0 {
				chart.Curves = append(chart.Curves, curve)
			}
			if trained && len(control.Points) > 0 {
				chart.Control = control
			}
		}
		return chart
	}
	measured := func(title, y string, value func(record.BlockMeasures) *float64) plot.Chart {
		chart := plot.Chart{Title: title, X: "block", Y: y}
		for _, trained := range []bool{true, false} {
			curve := plot.Curve{Name: trainedWord(trained)}
			row.eachBlock(trained, func(block int, levels []record.BlockMeasures) {
				if values := valuesOf(levels, value); len(values) > 0 {
					curve.Points = append(curve.Points, plot.At(float64(block), values...))
				}
			})
			if len(curve.Points) > 0 {
				chart.Curves = append(chart.Curves, curve)
			}
		}
		return chart
	}
	return plot.ChartGrid(2,
		fidelity("Linear decoder"+of, func(l record.BlockMeasures) record.Similarity { return l.Linear }),
		fidelity("Rectified decoder"+of,
			func(l record.BlockMeasures) record.Similarity { return l.Rectified }),
		measured("Class difference", "share of the decoding",
			func(l record.BlockMeasures) *float64 { return l.Difference }),
		measured("Spread of class biases", "share of the image",
			func(l record.BlockMeasures) *float64 { return l.BiasSpread }))
}

func trainedWord(trained bool) string {
	if trained {
		return "trained"
	}
	return "untrained"
}

// valuesOf returns what is measured of some levels, without those of which it was not.
func valuesOf(levels []record.BlockMeasures,
	value func(record.BlockMeasures) *float64) (values []float64) {
	for _, level := range levels {
		if measured := value(level); measured != nil {
			values = append(values, *measured)
		}
	}
	return values
}
