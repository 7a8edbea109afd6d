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
		p.X.Min, p.X.Max = min(p.X.Min, 0), max(p.X.Max, 0)
		if err := AddLine(p, plotter.XYs{{X: 0, Y: -0.6}, {X: 0, Y: rows - 0.4}}, color.Gray{0x80}, 1); err != nil {
			return Figure{}, fmt.Errorf("drawing the line at zero: %w", err)
		}
	}
	for i, s := range d.Series {
		if err := s.add(p, len(d.Rows), 0.26*(float64(len(d.Series)-1)/2-float64(i)), Hue(i), len(d.Series) > 1); err != nil {
			return Figure{}, fmt.Errorf("drawing %s: %w", s.Name, err)
		}
	}
	var labels plot.ConstantTicks
	width := vg.Length(440) // beside the names
	p.Y.Tick.Label.Font = sans(11)
	for i, name := range d.Rows {
		labels = append(labels, plot.Tick{Value: float64(len(d.Rows) - 1 - i), Label: printable(name)})
		width = max(width, 440+p.Y.Tick.Label.Width(printable(name)))
	}
	p.Y.Tick.Marker = labels
	p.Y.Min, p.Y.Max = -0.6, rows-0.4
	margin := (p.X.Max - p.X.Min) / 25 // so that no interval ends where the axis does
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	return Row(width, vg.Length(110+32*rows), p), nil // the title in two lines, the axis and its label take 100
}

// add adds the series to a plot of so many rows, above their middle by an offset.
func (s Series) add(p *plot.Plot, rows int, offset float64, hue color.Color, named bool) error {
	var points plotter.XYs
	for i, value := range s.Values {
		if math.IsNaN(value.Value) {
			continue
		}
		y := float64(rows-1-i) + offset
		points = append(points, plotter.XY{X: value.Value, Y: y})
		if value.Low < value.High {
			if err := AddLine(p, plotter.XYs{{X: value.Low, Y: y}, {X: value.High, Y: y}}, hue, 1.5); err != nil {
				return err
			}
		}
	}
	if len(points) == 0 {
		return nil
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: hue, Radius: 4, Shape: draw.CircleGlyph{}}
	if s.Hollow {
		ground := *dots // so that the interval's line does not cross the circle
		ground.Color = color.White
		p.Add(&ground)
		dots.Shape = draw.RingGlyph{}
	}
	p.Add(dots)
	if named {
		p.Legend.Add(printable(s.Name), dots)
	}
	return nil
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
