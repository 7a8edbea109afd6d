package plot

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is about one quantity that changes with another, in several cases.
type Chart struct {
	// Title, may have several lines; X and Y name the axes.
	Title, X, Y string
	// Log makes the vertical axis logarithmic: all values must be positive.
	Log bool
	// Curves are the cases, up to 8 so that their colours can be told apart.
	Curves []Curve
}

// Curve is one case.
type Curve struct {
	// Name in the legend.
	Name string
	// Points in the order of their X.
	Points []Point
}

// Point is a place on a curve: the mean of what was measured there, and the smallest and the largest of it.
type Point struct {
	X, Mean, Low, High float64
}

// At is a point that was measured once.
func At(x, y float64) Point { return Point{X: x, Mean: y, Low: y, High: y} }

// maxCurves is the number of colours.
const maxCurves = 8

// maxDots is how many points of a curve are marked: more run into one another.
const maxDots = 20

// Draw makes the figure: a line through the means of each curve, in a light band from the smallest to the largest where
// they differ.
func (c Chart) Draw() (Figure, error) {
	if len(c.Curves) == 0 || len(c.Curves) > maxCurves {
		return Figure{}, fmt.Errorf("a chart of %d curves: 1 to %d can be told apart", len(c.Curves), maxCurves)
	}
	p := c.frame()
	// Bands lie below all lines.
	for _, add := range []func(Curve, *plot.Plot, color.Color) error{Curve.addBand, Curve.addLine} {
		for i, curve := range c.Curves {
			if err := add(curve, p, Hue(i)); err != nil {
				return Figure{}, fmt.Errorf("drawing %s: %w", curve.Name, err)
			}
		}
	}
	if c.Log && p.Y.Min <= 0 {
		return Figure{}, fmt.Errorf("%g cannot be shown on a logarithmic axis", p.Y.Min)
	}
	return FromPlot(p, 480, 330), nil
}

// frame is the chart without its curves.
func (c Chart) frame() *plot.Plot {
	p := Plot(c.Title, c.X, c.Y)
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker = plot.TickerFunc(wholeNumbers)
	if c.Log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	}
	p.Legend.Padding, p.Legend.XOffs, p.Legend.YOffs = 2, -6, -6
	p.Legend.YPosition = draw.PosCenter
	return p
}

// addBand draws what lies between the smallest and the largest values.
func (c Curve) addBand(p *plot.Plot, hue color.Color) error {
	var lower, upper plotter.XYs
	for _, point := range c.Points {
		lower = append(lower, plotter.XY{X: point.X, Y: point.Low})
		upper = append(upper, plotter.XY{X: point.X, Y: point.High})
	}
	if slices.Equal(lower, upper) {
		return nil
	}
	slices.Reverse(upper)
	band, err := plotter.NewPolygon(append(lower, upper...))
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = light(hue), 0
	p.Add(band)
	return nil
}

// addLine draws the means.
func (c Curve) addLine(p *plot.Plot, hue color.Color) error {
	var means plotter.XYs
	for _, point := range c.Points {
		means = append(means, plotter.XY{X: point.X, Y: point.Mean})
	}
	line, dots, err := plotter.NewLinePoints(means)
	if err != nil {
		return err
	}
	line.Color, line.Width = hue, 1.6
	dots.Color, dots.Shape, dots.Radius = hue, draw.CircleGlyph{}, 2.2
	p.Add(line)
	if len(means) <= maxDots {
		p.Add(dots)
	}
	p.Legend.Add(printable(c.Name), line)
	return nil
}

// light is the colour, nearly transparent.
func light(hue color.Color) color.Color {
	solid := color.NRGBAModel.Convert(hue).(color.NRGBA)
	solid.A = 0x40
	return solid
}
