package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Dots is a dot plot: a row for each name, from the top, and in it a dot with its interval for each
// curve that has a point there.
type Dots struct {
	// Title, in one or more lines; X names the axis.
	Title, X string
	// Rows are the names of the rows, each in one or two lines.
	Rows []string
	// Curves have points whose X is the number of their row, from 0.
	Curves []Curve
	// Zero draws a line at 0, for differences. A row far [outside] the others is then not drawn: its
	// values stand below its name.
	Zero bool
}

// outside reports whether showing a point's row would flatten all others: there are two at least,
// and its intervals begin at more than four times where theirs end.
func (d Dots) outside(shown Point) bool {
	nearest, farthest := math.Inf(1), 0.0
	for _, c := range d.Curves {
		for _, point := range c.Points {
			if point.X == shown.X {
				nearest = min(nearest, max(point.Low, -point.High, 0))
			} else {
				farthest = max(farthest, math.Abs(point.Low), math.Abs(point.High))
			}
		}
	}
	return d.Zero && len(d.Rows) > 2 && nearest > 4*farthest
}

// Draw draws the plot.
func (d Dots) Draw() Figure {
	p, last := Plot(d.Title, d.X, ""), float64(len(d.Rows)-1)
	width, labels := vg.Length(0), plot.ConstantTicks(nil)
	for i, name := range d.Rows {
		name = printable(name)
		for _, c := range d.Curves {
			for _, point := range c.Points {
				if int(point.X) == i && d.outside(point) {
					value := strings.ReplaceAll(fmt.Sprintf("%.3g", point.Mean), "-", "−")
					name += "\n(" + value + ", outside)"
				}
			}
		}
		labels = append(labels, plot.Tick{Value: last - float64(i), Label: name})
		width = max(width, p.Y.Tick.Label.Width(name))
	}
	if d.Zero {
		AddLine(p, plotter.XYs{{X: 0, Y: -0.6}, {X: 0, Y: last + 0.6}}, color.Gray{0x80}, 1)
	}
	for i, c := range d.Curves {
		c.Points = slices.DeleteFunc(slices.Clone(c.Points), d.outside)
		shift := 0.26 * (float64(len(d.Curves)-1)/2 - float64(i))
		glyphs := addDots(p, c, Hue(i), func(point Point, value float64) plotter.XY {
			return plotter.XY{X: value, Y: last - point.X + shift}
		})
		if len(d.Curves) > 1 && len(c.Points) > 0 {
			p.Legend.Add(printable(c.Name), glyphs...)
		}
	}
	p.Y.Tick.Marker, p.Y.Min, p.Y.Max = labels, -0.6, last+0.6
	margin := (p.X.Max - p.X.Min) / 25 // so that no interval ends where the axis does
	p.X.Min, p.X.Max = p.X.Min-margin, p.X.Max+margin
	// a title in three lines, the axis and its label take 115
	return Panels(400+width, vg.Length(150+32*last), [][]*plot.Plot{{p}})
}
