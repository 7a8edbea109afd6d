package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette/brewer"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
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

// maxCurves is the number of colours.
const maxCurves = 8

// maxDots is how many points of a curve are marked: more run into one another.
const maxDots = 20

// margin around a chart, in points.
const margin = 10

// Draw makes the figure: a line through the means of each curve, in a light band from the smallest to the largest where
// they differ.
func (c Chart) Draw() (Figure, error) {
	if len(c.Curves) == 0 || len(c.Curves) > maxCurves {
		return Figure{}, fmt.Errorf("a chart of %d curves: 1 to %d can be told apart", len(c.Curves), maxCurves)
	}
	colors, err := brewer.GetPalette(brewer.TypeQualitative, "Dark2", maxCurves)
	if err != nil {
		return Figure{}, fmt.Errorf("colours: %w", err)
	}
	p := c.frame()
	// Bands lie below all lines.
	for _, add := range []func(Curve, *plot.Plot, color.Color) error{Curve.addBand, Curve.addLine} {
		for i, curve := range c.Curves {
			if err := add(curve, p, colors.Colors()[i]); err != nil {
				return Figure{}, fmt.Errorf("drawing %s: %w", curve.Name, err)
			}
		}
	}
	if c.Log && p.Y.Min <= 0 {
		return Figure{}, fmt.Errorf("%g cannot be shown on a logarithmic axis", p.Y.Min)
	}
	return Figure{Width: 480, Height: 330, Draw: func(canvas draw.Canvas) {
		canvas.SetColor(p.BackgroundColor)
		canvas.Fill(canvas.Rectangle.Path())
		p.Draw(draw.Crop(canvas, margin, -margin, margin, -margin))
	}}, nil
}

// frame is the chart without its curves.
func (c Chart) frame() *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	sans := func(size vg.Length) font.Font { return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size} }
	p.Title.TextStyle.Font = sans(13)
	p.Title.Padding = 8
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(12)
		axis.Label.Padding = 5
		axis.Tick.Label.Font = sans(10)
		axis.Padding = 0
	}
	p.X.Tick.Marker = plot.TickerFunc(wholeNumbers)
	if c.Log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	}
	p.Legend.Top = true
	p.Legend.TextStyle.Font = sans(11)
	p.Legend.Padding = 2
	p.Legend.XOffs, p.Legend.YOffs = -6, -6
	p.Legend.YPosition = draw.PosCenter
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
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
	p.Legend.Add(c.Name, line)
	return nil
}

// light is the colour, nearly transparent.
func light(hue color.Color) color.Color {
	solid := color.NRGBAModel.Convert(hue).(color.NRGBA)
	solid.A = 0x40
	return solid
}

// wholeNumbers are ticks at whole numbers, about ten at most: steps of 1, 2, 5, 10, 20, …
func wholeNumbers(low, high float64) (ticks []plot.Tick) {
	step := 1.0
	for i := 0; (high-low)/step > 10; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	for x := math.Ceil(low/step) * step; x <= high; x += step {
		ticks = append(ticks, plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'f', -1, 64)})
	}
	return ticks
}

// decades are ticks of a logarithmic axis at 1, 2 and 5 times powers of ten, with unlabelled ones between them.
func decades(low, high float64) (ticks []plot.Tick) {
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			tick := plot.Tick{Value: digit * power}
			if digit == 1 || digit == 2 || digit == 5 {
				tick.Label = strconv.FormatFloat(tick.Value, 'g', 2, 64)
			}
			if tick.Value >= low && tick.Value <= high {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}
