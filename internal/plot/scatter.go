package plot

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Scatter is a plot of points with vertical intervals, a colour for each curve.
type Scatter struct {
	// Title, in one or more lines; X and Y name the axes.
	Title, X, Y string
	// Curves have the points; lines do not join them. Hollow ones are black.
	Curves []Curve
	// Slope and Intercept are those of a dashed line, which Line names in the legend.
	Slope, Intercept float64
	Line             string
}

// Draw draws the plot, with a line at 0.
func (s Scatter) Draw() Figure {
	p := Plot(s.Title, s.X, s.Y)
	grey := color.Gray{0x80}
	for i, c := range s.Curves {
		hue := Hue(i)
		if c.Hollow {
			hue = color.NRGBA{A: 0xff}
		}
		glyphs := addDots(p, c, hue, func(point Point, value float64) plotter.XY {
			return plotter.XY{X: point.X, Y: value}
		})
		p.Legend.Add(printable(c.Name), glyphs...)
	}
	p.X.Min, p.X.Max = 0, 1.05*max(0, p.X.Max)
	AddLine(p, plotter.XYs{{X: 0, Y: 0}, {X: p.X.Max, Y: 0}}, grey, 1)
	if s.Line != "" {
		drawn := AddLine(p, plotter.XYs{{X: 0, Y: s.Intercept},
			{X: p.X.Max, Y: s.Intercept + s.Slope*p.X.Max}}, grey, 1)
		drawn.Dashes = []vg.Length{4, 3}
		p.Legend.Add(printable(s.Line), drawn)
	}
	margin := (p.Y.Max - p.Y.Min) / 25 // so that no interval ends where the axis does
	p.Y.Min, p.Y.Max = p.Y.Min-margin, p.Y.Max+margin
	return Panels(640, 380, [][]*plot.Plot{{p}})
}
