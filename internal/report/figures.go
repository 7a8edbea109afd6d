package report

import (
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

// drawDifferences draws a table of differences: what was measured here, and the paper's numbers.
func (p *Results) drawDifferences(study experiments.Study, t Table) plot.Figure {
	dots := plot.Dots{Title: "Differences in test error: " + study.Name + " at " + p.Name,
		Zero: true, X: "points, with 95 % intervals (left of 0: fewer errors)",
		Curves: []plot.Curve{{Name: "here"}, {Name: "the paper", Hollow: true}}}
	var columns []int // of the curves
	for _, name := range []string{"here", "paper"} {
		named := func(c Column) bool { return c.Name == name }
		columns = append(columns, slices.IndexFunc(t.Columns, named))
	}
	for i, row := range t.Rows {
		dots.Rows = append(dots.Rows, strings.Join(Fold(row[0].text, 40), "\n"))
		for curve, column := range columns {
			if cell := row[column]; !cell.empty() {
				dots.Curves[curve].Points = append(dots.Curves[curve].Points,
					plot.Point{X: float64(i), Mean: cell.value, Low: cell.low, High: cell.high})
			}
		}
	}
	if len(dots.Curves[1].Points) == 0 {
		dots.Curves = dots.Curves[:1]
	}
	return dots.Draw()
}

// longCurves is the number of epochs from which a chart leaves out where its curves begin.
const longCurves = 20

// DrawCurves draws the error on training batches by epoch of the rows of a study.
func (p *Results) DrawCurves(study experiments.Study) (plot.Figure, error) {
	chart := p.chart(study, "Error on training batches", "error (%)",
		func(e record.Epoch) float64 { return e.BatchErr })
	if p.Scales[study.Name].Epochs >= longCurves {
		chart.Ends = 3
	}
	return plot.Charts(chart)
}

// sweepsEnd is how many times the median of the last test errors their axis shows.
const sweepsEnd = 1.6

// drawSweeps draws loss and test error by epoch of a study that is measured after each epoch.
func (p *Results) drawSweeps(study experiments.Study) (plot.Figure, error) {
	loss := p.chart(study, "Training loss", "log-loss (nats)",
		func(e record.Epoch) float64 { return max(e.Trace.TrainLoss, 1e-6) })
	loss.Log = true // it has no 0
	test := p.chart(study, "Test error", "error (%)",
		func(e record.Epoch) float64 { return e.Trace.TestErr })
	test.Ends = sweepsEnd
	return plot.Charts(loss, test)
}

// chart has a curve for each row with records: a number of its epochs, mean and range over seeds.
func (p *Results) chart(study experiments.Study, title, y string,
	value func(record.Epoch) float64) plot.Chart {
	chart := plot.Chart{Title: title + ": " + study.Name + " at " + p.Name, X: "epoch", Y: y}
	for _, row := range p.Rows(study) {
		if len(row.Records) == 0 {
			continue
		}
		curve := plot.Curve{Name: row.Title}
		for i, epoch := range row.Records[0].Curve {
			values := row.values(func(r record.Record) *float64 { return new(value(r.Curve[i])) })
			curve.Points = append(curve.Points, plot.At(float64(epoch.Epoch), values...))
		}
		chart.Curves = append(chart.Curves, curve)
	}
	return chart
}

// drawDecodings draws what the decodings of a row are from block to block, as trained and before
// training: the fidelity of the linear and of the rectified decoder, of which the claims ask for
// more than the grey band, the class difference and the spread of class biases.
func (p *Results) drawDecodings(row Row) (plot.Figure, error) {
	measured := func(title, y string, quantity experiments.Quantity) plot.Chart {
		chart := plot.Chart{Title: title, X: "block", Y: y}
		for _, name := range []string{"trained", "untrained"} {
			var curve plot.Curve // one without points keeps its colour from the other
			for i, block := range row.blocks(name == "trained") {
				term := experiments.Term{Block: block.Block, Untrained: name == "untrained"}
				if values := row.quantities(quantity, term); len(values) > 0 {
					curve.Name = name
					curve.Points = append(curve.Points, plot.At(float64(i+1), values...))
				}
			}
			chart.Curves = append(chart.Curves, curve)
		}
		return chart
	}
	linear := measured(row.Title+" at "+p.Name+"\nlinear decoder", "fidelity",
		experiments.LinearFidelity)
	rectified := measured("rectified decoder", "fidelity", experiments.RectifiedFidelity)
	for i := range row.blocks(false) {
		linear.Band.Points = append(linear.Band.Points,
			plot.Point{X: float64(i + 1), High: experiments.Faithful})
	}
	rectified.Band = linear.Band
	return plot.ChartGrid(2, linear, rectified,
		measured("class difference", "share of the decoding", experiments.ClassDifference),
		measured("spread of class biases", "share of the image", experiments.BiasSpread))
}
