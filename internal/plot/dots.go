package plot

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Value is a measured number with its interval. An empty interval is not drawn.
type Value struct{ Value, Low, High float64 }

// Series is a named series of values, one for each row of a dot plot; NaN is a missing value.
type Series struct {
	Name   string
	Values []Value
}

// Dots returns a dot plot: a row for each name, a colour for each series.
func Dots(title, axis string, names []string, series ...Series) (Figure, error) {
	p := Plot(title, axis, "")
	for i, s := range series {
		var points plotter.XYs
		for j, value := range s.Values {
			if math.IsNaN(value.Value) {
				continue
			}
			// Rows run from the top; series in a row are offset.
			y := float64(len(names)-1-j) + 0.22*(float64(len(series)-1)/2-float64(i))
			points = append(points, plotter.XY{X: value.Value, Y: y})
			if value.Low < value.High {
				if err := AddLine(p, plotter.XYs{{X: value.Low, Y: y}, {X: value.High, Y: y}}, Hue(i), 1.5); err != nil {
					return Figure{}, fmt.Errorf("drawing %s: %w", s.Name, err)
				}
			}
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return Figure{}, fmt.Errorf("drawing %s: %w", s.Name, err)
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: Hue(i), Radius: 4, Shape: draw.CircleGlyph{}}
		p.Add(dots)
		if len(series) > 1 {
			p.Legend.Add(printable(s.Name), dots)
		}
	}
	var labels plot.ConstantTicks
	for j, name := range names {
		labels = append(labels, plot.Tick{Value: float64(len(names) - 1 - j), Label: printable(name)})
	}
	p.Y.Tick.Marker, p.Y.Tick.Label.Font = labels, sans(11)
	rows := float64(len(names))
	p.Y.Min, p.Y.Max = -0.6, rows-0.4
	if p.X.Min < 0 && p.X.Max > 0 {
		if err := AddLine(p, plotter.XYs{{X: 0, Y: -0.6}, {X: 0, Y: float64(len(names)) - 0.4}}, color.Gray{0x80}, 1); err != nil {
			return Figure{}, fmt.Errorf("drawing the line at zero: %w", err)
		}
	}
	margin := (p.X.Max - p.X.Min) / 25 // so that no interval ends where the axis does
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	return Row(560, vg.Length(110+24*rows), p), nil // the title in two lines, the axis and its label take 100
}

// AddLine adds a line of that width in points to a plot.
func AddLine(p *plot.Plot, points plotter.XYs, hue color.Color, width vg.Length) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = hue, width
	p.Add(line)
	return nil
}
