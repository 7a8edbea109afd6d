package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is a line chart of one or more curves.
type Chart struct {
	// Title, in one or more lines; X and Y name the axes.
	Title, X, Y string
	// Log makes the vertical axis logarithmic: all values must be positive.
	Log bool
	// Ends, if not 0, cuts the vertical axis off above so many times the median of the curves' last
	// means: neither the beginning nor an outlier then flattens what stands at the end. The legend
	// says which curve ends above the axis, and where.
	Ends   float64
	Curves []Curve
	// Band, if it has points, is grey from Low to High, below all curves.
	Band Curve
}

// Curve is a series of points with a name.
type Curve struct {
	// Name in the legend, which leaves out a curve without one.
	Name string
	// Hollow points of [Dots] are rings.
	Hollow bool
	// Points in the order of their X.
	Points []Point
}

// Point is a value at X, with the ends of its range or interval. Without an interval they are the
// mean or, of dots, NaN.
type Point struct {
	X, Mean, Low, High float64
}

// At is the mean of one or more values at x, with their smallest and largest one.
func At(x float64, values ...float64) Point {
	return Point{x, stat.Mean(values, nil), floats.Min(values), floats.Max(values)}
}

// maxMarkers is the number of points up to which each has a marker, and a tick of the axis; more
// would overlap.
const maxMarkers = 12

// Charts draws charts one below the other: each curve as a line through the means and, if points
// have a range or an interval, below the lines a translucent band from low to high. Lines differ in
// dashes, too, so that one that lies on another shows.
func Charts(charts ...Chart) (Figure, error) { return ChartGrid(1, charts...) }

// ChartGrid draws charts likewise in so many columns.
func ChartGrid(columns int, charts ...Chart) (Figure, error) {
	var panels [][]*plot.Plot
	for row := range slices.Chunk(charts, columns) {
		var plots []*plot.Plot
		for _, c := range row {
			p, err := c.panel()
			if err != nil {
				return Figure{}, err
			}
			plots = append(plots, p)
		}
		panels = append(panels, plots)
	}
	width, height := 560, 340*len(panels)
	if columns > 1 { // as wide as a page, on which a phone still shows the letters
		width, height = 310*columns, 230*len(panels)
	}
	return Panels(vg.Length(width), vg.Length(height), panels), nil
}

// ceiling returns where the vertical axis ends at the top: ∞ unless Ends is set.
func (c Chart) ceiling() float64 {
	var last []float64
	for _, curve := range c.Curves {
		if n := len(curve.Points); n > 0 {
			last = append(last, curve.Points[n-1].Mean)
		}
	}
	if c.Ends == 0 || len(last) == 0 {
		return math.Inf(1)
	}
	slices.Sort(last)
	return c.Ends * last[(len(last)-1)/2]
}

func (c Chart) panel() (*plot.Plot, error) {
	p, places, ceiling := Plot(c.Title, c.X, c.Y), []float64(nil), c.ceiling()
	p.X.Padding, p.Y.Padding = 4, 4
	c.Band.addBand(p, color.NRGBA{0x80, 0x80, 0x80, 0xff})
	for i, curve := range c.Curves { // all bands below all lines
		curve.addBand(p, Hue(i))
	}
	for i, curve := range c.Curves {
		if n := len(curve.Points); n > 0 && curve.Points[n-1].Mean > ceiling {
			curve.Name += fmt.Sprintf(" (above: %.3g)", curve.Points[n-1].Mean)
		}
		curve.addLine(p, Hue(i), dashes[i%len(dashes)])
		for _, point := range curve.Points {
			if err := plotter.CheckFloats(point.X, point.Mean); err != nil {
				return nil, fmt.Errorf("drawing %s: %w", curve.Name, err)
			}
			places = append(places, point.X)
		}
	}
	slices.Sort(places)
	if places = slices.Compact(places); len(places) <= maxMarkers {
		p.X.Tick.Marker = plot.ConstantTicks(ticksAt(places))
	}
	p.Y.Max = min(p.Y.Max, ceiling)
	if !c.Log {
		return p, nil
	}
	if p.Y.Min <= 0 {
		return nil, fmt.Errorf("a logarithmic axis has no value %g: values must be positive", p.Y.Min)
	}
	// From a power of ten, which have the labels, to another. LogTicks (gonum/plot 0.17) leaves out
	// the first power below 1, and does not reach small ones exactly: 9.999999999999999e-05.
	ticks := func(low, high float64) []plot.Tick {
		ticks := plot.LogTicks{}.Ticks(low/10, high)
		for i, tick := range ticks {
			if tick.Label != "" {
				ticks[i].Label = fmt.Sprintf("%.6g", tick.Value)
			}
		}
		return ticks
	}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(ticks)
	p.Y.Min, p.Y.Max = math.Pow(10, math.Ceil(math.Log10(p.Y.Min))-1),
		math.Pow(10, math.Ceil(math.Log10(p.Y.Max)))
	return p, nil
}

// dashes of lines, in turn: lengths of strokes and gaps in points.
var dashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 2, 2, 2}, {12, 4}}

func (c Curve) addBand(p *plot.Plot, hue color.NRGBA) {
	var lower, upper plotter.XYs
	for _, point := range c.Points {
		lower = append(lower, plotter.XY{X: point.X, Y: point.Low})
		upper = append(upper, plotter.XY{X: point.X, Y: point.High})
	}
	if !slices.Equal(lower, upper) {
		slices.Reverse(upper)
		hue.A = 0x40 // translucent
		p.Add(&plotter.Polygon{XYs: []plotter.XYs{append(lower, upper...)}, Color: hue,
			LineStyle: draw.LineStyle{Color: hue}})
	}
}

// addLine adds the line through the means, with markers up to maxMarkers points.
func (c Curve) addLine(p *plot.Plot, hue color.Color, dashes []vg.Length) {
	var means plotter.XYs
	for _, point := range c.Points {
		means = append(means, plotter.XY{X: point.X, Y: point.Mean})
	}
	line := AddLine(p, means, hue, 1.6)
	line.Dashes = dashes
	if len(means) <= maxMarkers {
		p.Add(dots(means, hue, 2.2))
	}
	if c.Name != "" {
		p.Legend.Add(printable(c.Name), line)
	}
}
