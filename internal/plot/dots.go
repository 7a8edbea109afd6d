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

// Dots is a dot plot: a row for each name, from the top, and in it a dot for each series.
type Dots struct {
	// Title, in one or more lines; X names the axis.
	Title, X string
	// Rows are the names of the rows.
	Rows   []string
	Series []Series
	// Zero draws a line at 0, for differences.
	Zero bool
}

// Series is a named series of values, one for each row; NaN is a missing value.
type Series struct {
	Name   string
	Values []Value
	// Hollow dots are open circles.
	Hollow bool
}

// Value is a measured number with its interval. An empty interval, or one of NaN, is not drawn.
type Value struct{ Value, Low, High float64 }

// Draw draws the plot.
func (d Dots) Draw() (Figure, error) {
	p, rows := Plot(d.Title, d.X, ""), float64(len(d.Rows))
	if d.Zero {
		if err := AddLine(p, plotter.XYs{{X: 0, Y: -0.6}, {X: 0, Y: rows - 0.4}}, color.Gray{0x80}, 1); err != nil {
			return Figure{}, fmt.Errorf("drawing the line at zero: %w", err)
		}
	}
	for i, s := range d.Series {
		offset := 0.26 * (float64(len(d.Series)-1)/2 - float64(i))
		dots := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: Hue(i), Radius: 4, Shape: draw.CircleGlyph{}}}
		if s.Hollow {
			dots.Shape = draw.RingGlyph{}
		}
		for row, value := range s.Values {
			if math.IsNaN(value.Value) {
				continue
			}
			y := rows - 1 - float64(row) + offset
			dots.XYs = append(dots.XYs, plotter.XY{X: value.Value, Y: y})
			if value.Low < value.High {
				if err := AddLine(p, plotter.XYs{{X: value.Low, Y: y}, {X: value.High, Y: y}}, Hue(i), 1.5); err != nil {
					return Figure{}, fmt.Errorf("drawing %s: %w", s.Name, err)
				}
			}
		}
		if len(dots.XYs) > 0 {
			p.Add(dots)
		}
		if len(d.Series) > 1 {
			p.Legend.Add(printable(s.Name), dots)
		}
	}
	var labels plot.ConstantTicks
	width := vg.Length(440) // beside the names
	p.Y.Tick.Label.Font = sans(11)
	for i, name := range d.Rows {
		labels = append(labels, plot.Tick{Value: rows - 1 - float64(i), Label: printable(name)})
		width = max(width, 440+p.Y.Tick.Label.Width(printable(name)))
	}
	p.Y.Tick.Marker, p.Y.Min, p.Y.Max = labels, -0.6, rows-0.4
	margin := (p.X.Max - p.X.Min) / 25 // so that no interval ends where the axis does
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	return Row(width, vg.Length(110+32*rows), p), nil // the title in two lines, the axis and its label take 100
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
