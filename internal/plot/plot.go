package plot

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette/brewer"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plot is an empty plot with a grid, in the letters of all figures.
func Plot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = printable(title), x, y
	p.Title.TextStyle.Font, p.Title.Padding = sans(13), 8
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Label.Padding, axis.Tick.Label.Font = sans(12), 5, sans(10)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(roundNumbers), plot.TickerFunc(roundNumbers)
	p.Legend.Top, p.Legend.TextStyle.Font = true, sans(11)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
	return p
}

// margin around plots, in points.
const margin = 10

// FromPlot is the figure of a plot of that size in points, with a margin.
func FromPlot(p *plot.Plot, width, height vg.Length) Figure { return Row(width, height, p) }

// Row is the figure of plots side by side, their axes aligned, of that size in points altogether.
func Row(width, height vg.Length, plots ...*plot.Plot) Figure {
	return Figure{Width: width, Height: height, Draw: func(canvas draw.Canvas) {
		canvas.SetColor(color.White)
		canvas.Fill(canvas.Rectangle.Path())
		inner := draw.Crop(canvas, margin, -margin, margin, -margin)
		tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: margin}
		for i, place := range plot.Align([][]*plot.Plot{plots}, tiles, inner)[0] {
			plots[i].Draw(place)
		}
	}}
}

// Hue is a colour that can be told from the other ones, for each number below 8.
func Hue(i int) color.Color { return hues[i%len(hues)] }

// hues are the colours of curves and dots.
var hues = palette("Dark2", maxCurves)

// palette are a ColorBrewer palette's colours. It panics if there is none of that name and size.
func palette(name string, count int) []color.Color {
	colors, err := brewer.GetPalette(brewer.TypeQualitative, name, count)
	if err != nil {
		panic(fmt.Sprintf("palette %s: %v", name, err))
	}
	return colors.Colors()
}

// sans is a font without serifs.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// printable is a name in letters that the font has: it lacks the subscript minus of EBC₆₋₇.
func printable(name string) string { return strings.ReplaceAll(name, "₋", "-") }

// roundNumbers are ticks at about five round numbers.
func roundNumbers(low, high float64) []plot.Tick {
	return ticks(low, high, roundStep(math.Pow(10, math.Floor(math.Log10((high-low)/6))), high-low, 6))
}

// wholeNumbers are ticks at whole numbers, about ten at most.
func wholeNumbers(low, high float64) []plot.Tick {
	return ticks(low, high, roundStep(1, high-low, 10))
}

// roundStep is the first of 1, 2, 5, 10, 20, … times a power of ten that a span holds no more often than that.
func roundStep(power, span, most float64) float64 {
	step := power
	for i := 0; span/step > most; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	return step
}

// ticks are at the multiples of a step; none where the axis has no length.
func ticks(low, high, step float64) (all []plot.Tick) {
	if !(low < high) {
		return nil
	}
	const slack = 1e-9 // 3 · 0.1 is more than 0.3
	for i := math.Ceil(low/step - slack); i <= high/step+slack; i++ {
		value := i*step + 0 // −0 becomes 0
		all = append(all, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'g', 5, 64)})
	}
	return all
}

// decades are ticks of a logarithmic axis at 1, 2 and 5 times powers of ten, with unlabelled ones between them.
func decades(low, high float64) (all []plot.Tick) {
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			tick := plot.Tick{Value: digit * power}
			if digit == 1 || digit == 2 || digit == 5 {
				tick.Label = strconv.FormatFloat(tick.Value, 'g', 5, 64)
			}
			if tick.Value >= low && tick.Value <= high {
				all = append(all, tick)
			}
		}
	}
	return all
}
