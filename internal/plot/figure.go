// Package plot turns numbers into figures: line charts ([Chart]), dot plots ([Dots]) and grids of images ([Grid]).
package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a picture that renders as SVG and PNG. The same figure renders to the same bytes.
type Figure struct {
	// Width and Height in points, 1/72 inch.
	Width, Height vg.Length
	// Draw draws the picture on a canvas of that size.
	Draw func(canvas draw.Canvas)
}

// pngDPI is the resolution of PNG files: two pixels a point, for screens of double density.
const pngDPI = 144

// PNG renders the figure as pixels.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(f.Width, f.Height), vgimg.UseDPI(pngDPI))
	f.Draw(draw.New(canvas))
	var content bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&content); err != nil {
		return nil, fmt.Errorf("rendering a PNG: %w", err)
	}
	return content.Bytes(), nil
}

// SVG renders the figure as vectors.
func (f Figure) SVG() ([]byte, error) {
	canvas := vgsvg.New(f.Width, f.Height)
	f.Draw(draw.New(canvas))
	var content bytes.Buffer
	if _, err := canvas.WriteTo(&content); err != nil {
		return nil, fmt.Errorf("rendering an SVG: %w", err)
	}
	// Most readers lack the Liberation fonts; the fallbacks have the same metrics.
	return bytes.ReplaceAll(content.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// Plot returns an empty plot with a grid, in the fonts of all figures.
func Plot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = printable(title), x, y
	p.Title.TextStyle.Font, p.Title.Padding = sans(13), 8
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Label.Padding, axis.Tick.Label.Font = sans(12), 5, sans(10)
		axis.Tick.Marker = plot.TickerFunc(decimalTicks)
	}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding, p.Legend.YPosition = true, true, 2, draw.PosCenter
	p.Legend.TextStyle.Font = sans(11)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
	return p
}

const (
	// margin around plots, in points.
	margin = 10
	// legendTop is the distance of a legend from the top of its plot, in points: the height of a title in two lines.
	legendTop = 40
)

// Row returns the figure of plots side by side with aligned axes and a margin, of that total size in points. A plot's legend stands
// to the right of the plot, which it would cover inside.
func Row(width, height vg.Length, plots ...*plot.Plot) Figure {
	legends := make([]plot.Legend, len(plots))
	for i, p := range plots {
		legends[i], p.Legend = p.Legend, plot.NewLegend()
	}
	return Figure{Width: width, Height: height, Draw: func(canvas draw.Canvas) {
		canvas.SetColor(color.White)
		canvas.Fill(canvas.Rectangle.Path())
		inner := draw.Crop(canvas, margin, -margin, margin, -margin)
		tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: margin}
		for i, place := range plot.Align([][]*plot.Plot{plots}, tiles, inner)[0] {
			if size := legends[i].Rectangle(place).Size(); size.X > 0 {
				legends[i].Draw(draw.Crop(place, place.Size().X-size.X, 0, 0, -legendTop))
				place = draw.Crop(place, 0, -size.X-margin, 0, 0)
			}
			plots[i].Draw(place)
		}
	}}
}

// hues are the colours of curves and dots: ColorBrewer's Dark2, and black.
var hues = []uint32{0x1b9e77, 0xd95f02, 0x7570b3, 0xe7298a, 0x66a61e, 0xe6ab02, 0xa6761d, 0x666666, 0}

// Hue returns colour i of nine distinct ones; it repeats from there on.
func Hue(i int) color.NRGBA {
	code := hues[i%len(hues)]
	return color.NRGBA{uint8(code >> 16), uint8(code >> 8), uint8(code), 0xff}
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// printable replaces the subscript minus of EBC₆₋₇, which the font lacks, by a low short dash.
func printable(name string) string { return strings.ReplaceAll(name, "₋", "˗") }

// decimalTicks are up to seven ticks at round numbers; none if the axis has no length.
func decimalTicks(low, high float64) []plot.Tick {
	if !(low < high) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/6)))
	for i := 0; (high-low)/step > 6; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	const slack = 1e-9 // in floating point 3 · 0.1 > 0.3
	var values []float64
	for i := math.Ceil(low/step - slack); i <= high/step+slack; i++ {
		values = append(values, i*step+0) // −0 becomes 0
	}
	return ticksAt(values)
}

func ticksAt(values []float64) (all []plot.Tick) {
	for _, value := range values {
		all = append(all, plot.Tick{Value: value, Label: strings.Replace(strconv.FormatFloat(value, 'g', 5, 64), "-", "−", 1)})
	}
	return all
}

// logTicks are ticks of a logarithmic axis at 1, 2 and 5 times powers of ten; decimal ones of an axis that is too short for two of them.
func logTicks(low, high float64) []plot.Tick {
	var values []float64
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, value := range []float64{power, 2 * power, 5 * power} {
			if value >= low && value <= high {
				values = append(values, value)
			}
		}
	}
	if len(values) < 2 {
		return decimalTicks(low, high)
	}
	return ticksAt(values)
}
