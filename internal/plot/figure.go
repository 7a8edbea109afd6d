// Package plot turns numbers into figures: line charts ([Chart]), dot plots ([Dots]), scatter plots
// ([Scatter]) and grids of images ([Grid]).
package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
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
	// Title of a grid, in one or more lines; a chart's stands in its panels.
	Title string
	// Width and Height in points, 1/72 inch.
	Width, Height vg.Length
	// Draw draws the picture on a canvas of that size.
	Draw func(canvas draw.Canvas)
}

// PNG renders the figure as pixels: two a point, for screens of double density.
func (f Figure) PNG() ([]byte, error) {
	return f.render(vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.Width, f.Height),
		vgimg.UseDPI(144))})
}

// SVG renders the figure as vectors.
func (f Figure) SVG() ([]byte, error) {
	content, err := f.render(vgsvg.New(f.Width, f.Height))
	// Most readers lack the Liberation fonts; the fallbacks have the same metrics.
	return bytes.ReplaceAll(content, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), err
}

func (f Figure) render(canvas vg.CanvasWriterTo) ([]byte, error) {
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	f.Draw(whole)
	var content bytes.Buffer
	if _, err := canvas.WriteTo(&content); err != nil {
		return nil, fmt.Errorf("rendering a figure: %w", err)
	}
	return content.Bytes(), nil
}

// Plot returns an empty plot with a grid, in the fonts of all figures.
func Plot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = printable(title), x, y
	p.Title.TextStyle.Font, p.Title.Padding = sans(13), 8
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Label.Padding, axis.Tick.Label.Font = sans(12), 5, sans(11)
		axis.Tick.Marker = plot.TickerFunc(decimalTicks)
	}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding, p.Legend.YPosition = true, true, 2, draw.PosCenter
	p.Legend.TextStyle.Font = sans(11)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
	return p
}

// AddLine adds a line of that width in points to a plot.
func AddLine(p *plot.Plot, points plotter.XYs, hue color.Color, width vg.Length) *plotter.Line {
	line := &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: hue, Width: width}}
	p.Add(line)
	return line
}

func dots(points plotter.XYs, hue color.Color, radius vg.Length) *plotter.Scatter {
	return &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: hue, Radius: radius,
		Shape: draw.CircleGlyph{}}}
}

// addDots draws a curve's points as large dots, hollow ones as rings, over their intervals, and
// returns what the legend shows of them. place says where a point's value stands.
func addDots(p *plot.Plot, c Curve, hue color.Color,
	place func(point Point, value float64) plotter.XY) []plot.Thumbnailer {
	var means plotter.XYs
	for _, point := range c.Points {
		means = append(means, place(point, point.Mean))
		if point.Low < point.High {
			AddLine(p, plotter.XYs{place(point, point.Low), place(point, point.High)}, hue, 1.5)
		}
	}
	outer, inner := dots(means, hue, 4), dots(means, color.White, 3)
	p.Add(outer)
	if !c.Hollow {
		return []plot.Thumbnailer{outer}
	}
	p.Add(inner)
	return []plot.Thumbnailer{outer, inner}
}

// margin around plots, in points.
const margin = 10

// Panels returns the figure of plots in rows, with aligned axes and a margin, of that total size in
// points. A plot's legend stands to the right of the plot, which it would cover inside.
func Panels(width, height vg.Length, rows [][]*plot.Plot) Figure {
	legends := map[*plot.Plot]plot.Legend{}
	for _, p := range slices.Concat(rows...) {
		legends[p], p.Legend = p.Legend, plot.NewLegend()
	}
	return Figure{Width: width, Height: height, Draw: func(canvas draw.Canvas) {
		inner := draw.Crop(canvas, margin, -margin, margin, -margin)
		for i, places := range plot.Align(rows, draw.Tiles{Rows: len(rows), Cols: len(rows[0]),
			PadX: margin, PadY: margin}, inner) {
			for j, place := range places {
				p := rows[i][j]
				legend, top := legends[p], p.Title.TextStyle.Height(p.Title.Text)+p.Title.Padding
				if size := legend.Rectangle(place).Size(); size.X > 0 {
					legend.Draw(draw.Crop(place, place.Size().X-size.X, 0, 0, -top))
					place = draw.Crop(place, 0, -size.X-margin, 0, 0)
				}
				p.Draw(place)
			}
		}
	}}
}

// hues are the colours of curves and dots: ColorBrewer's Dark2, black, and five of its paired ones.
var hues = []uint32{0x1b9e77, 0xd95f02, 0x7570b3, 0xe7298a, 0x66a61e, 0xe6ab02, 0xa6761d, 0x666666,
	0, 0x1f78b4, 0xe31a1c, 0xa6cee3, 0xfb9a99, 0xb2df8a}

// Hue returns colour i of fourteen distinct ones; it repeats from there on.
func Hue(i int) color.NRGBA {
	code := hues[i%len(hues)]
	return color.NRGBA{uint8(code >> 16), uint8(code >> 8), uint8(code), 0xff}
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// printable replaces the subscript minus of EBC₆₋₇, which the font lacks, by a hyphen.
func printable(name string) string { return strings.ReplaceAll(name, "₋", "-") }

// decimalTicks are up to seven ticks at round numbers.
func decimalTicks(low, high float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/6)))
	for i := 0; (high-low)/step > 6; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	const slack = 1e-9 // in floating point 3 · 0.1 > 0.3
	var values []float64
	first := math.Ceil(low/step - slack)
	// at most 6: far from 0 a step may be lost in rounding
	for i := 0.0; i <= 6 && first+i <= high/step+slack; i++ {
		values = append(values, (first+i)*step+0) // −0 becomes 0
	}
	return ticksAt(values)
}

func ticksAt(values []float64) (all []plot.Tick) {
	for _, value := range values {
		all = append(all, plot.Tick{Value: value, Label: strings.Replace(fmt.Sprintf("%.5g", value), "-",
			"−", 1)})
	}
	return all
}
