package plot

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is a line chart of one or more curves.
type Chart struct {
	// Title, in one or more lines; X and Y name the axes.
	Title, X, Y string
	// Log makes the vertical axis logarithmic, LogX the horizontal one: all values must be positive.
	Log, LogX bool
	// Curves, 1 to [MaxCurves].
	Curves []Curve
}

// Curve is a series of points with a name.
type Curve struct {
	// Name in the legend.
	Name string
	// Points in the order of their X.
	Points []Point
	// Level, if not 0, is drawn as a dashed line across the chart in the curve's colour.
	Level float64
}

// Point is the mean, minimum (Low) and maximum (High) of the measurements at X.
type Point struct {
	X, Mean, Low, High float64
}

// At is a point with a single measurement.
func At(x, y float64) Point { return Point{X: x, Mean: y, Low: y, High: y} }

// MaxMarkers is the number of points up to which a curve has markers; more would overlap.
const MaxMarkers = 20

// First is the chart with its first MaxCurves curves, and with a title that says so if it has more.
func (c Chart) First() Chart {
	if len(c.Curves) > MaxCurves {
		c.Title += fmt.Sprintf("\nthe first %d of %d curves", MaxCurves, len(c.Curves))
		c.Curves = c.Curves[:MaxCurves]
	}
	return c
}

// Draw draws each curve as a line through the means and, if values differ, a translucent band from minimum to maximum.
func (c Chart) Draw() (Figure, error) {
	return Charts(c)
}

// Charts draws charts side by side.
func Charts(charts ...Chart) (Figure, error) {
	var panels []*plot.Plot
	for _, c := range charts {
		p, err := c.panel()
		if err != nil {
			return Figure{}, err
		}
		panels = append(panels, p)
	}
	return Row(vg.Length(560*len(charts)), 330, panels...), nil
}

// panel draws the chart.
func (c Chart) panel() (*plot.Plot, error) {
	if len(c.Curves) == 0 || len(c.Curves) > MaxCurves {
		return nil, fmt.Errorf("a chart of %d curves: it must have 1 to %d, one for each colour", len(c.Curves), MaxCurves)
	}
	p := c.axes()
	// All bands below all lines.
	for _, add := range []func(Curve, *plot.Plot, color.Color) error{Curve.addBand, Curve.addLine} {
		for i, curve := range c.Curves {
			if err := add(curve, p, Hue(i)); err != nil {
				return nil, fmt.Errorf("drawing %s: %w", curve.Name, err)
			}
		}
	}
	for _, axis := range []struct {
		log bool
		*plot.Axis
	}{{c.Log, &p.Y}, {c.LogX, &p.X}} {
		switch {
		case axis.log && axis.Min <= 0:
			return nil, fmt.Errorf("a logarithmic axis has no value %g: values must be positive", axis.Min)
		case axis.log && axis.Min == axis.Max: // which would be widened by 1 to both sides
			axis.Min, axis.Max = axis.Min/2, axis.Max*2
		}
	}
	return p, nil
}

// axes returns the chart's plot without curves.
func (c Chart) axes() *plot.Plot {
	p := Plot(c.Title, c.X, c.Y)
	p.X.Padding, p.Y.Padding = 4, 4
	p.X.Tick.Marker = plot.TickerFunc(integerTicks)
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if c.Log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	return p
}

// addBand adds the band from minimum to maximum.
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
	band.Color, band.LineStyle.Width = translucent(hue), 0
	p.Add(band)
	return nil
}

// addLine adds the line through the means, with markers up to MaxMarkers points.
func (c Curve) addLine(p *plot.Plot, hue color.Color) error {
	var means plotter.XYs
	for _, point := range c.Points {
		means = append(means, plotter.XY{X: point.X, Y: point.Mean})
	}
	line, markers, err := plotter.NewLinePoints(means)
	if err != nil {
		return err
	}
	line.Color, line.Width = hue, 1.6
	markers.Color, markers.Shape, markers.Radius = hue, draw.CircleGlyph{}, 2.2
	p.Add(line)
	if len(means) <= MaxMarkers {
		p.Add(markers)
	}
	if c.Level != 0 {
		level := plotter.NewFunction(func(float64) float64 { return c.Level })
		level.Color, level.Dashes = hue, plotutil.Dashes(2)
		p.Add(level)
		p.Y.Min, p.Y.Max = min(p.Y.Min, c.Level), max(p.Y.Max, c.Level)
	}
	p.Legend.Add(printable(c.Name), line)
	return nil
}

// translucent returns the colour with low opacity.
func translucent(hue color.Color) color.Color {
	solid := color.NRGBAModel.Convert(hue).(color.NRGBA)
	solid.A = 0x40
	return solid
}
