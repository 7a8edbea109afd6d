package plot

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// MaxCurves is the number of distinct colours, and so of curves in a chart.
const MaxCurves = 9

// hues are the colours of curves and dots: ColorBrewer's Dark2, and black.
var hues = [MaxCurves]color.NRGBA{
	rgb(0x1b9e77), rgb(0xd95f02), rgb(0x7570b3), rgb(0xe7298a), rgb(0x66a61e), rgb(0xe6ab02), rgb(0xa6761d), rgb(0x666666), rgb(0),
}

// Hue returns colour i of [MaxCurves] distinct ones; it repeats from there on.
func Hue(i int) color.NRGBA { return hues[i%len(hues)] }

// rgb is a colour of 0xRRGGBB.
func rgb(code uint32) color.NRGBA {
	return color.NRGBA{uint8(code >> 16), uint8(code >> 8), uint8(code), 0xff}
}

// sans returns the sans-serif font of a size.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// printable replaces the subscript minus of EBC₆₋₇, which the font lacks.
func printable(name string) string { return strings.ReplaceAll(name, "₋", "-") }
