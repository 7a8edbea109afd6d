package notebook

import (
	"image"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/palette/brewer"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"ebsscgo/experiments/figures"
)

// At is a point on a curve that was measured once.
func At(x, y float64) figures.Point { return figures.Point{X: x, Mean: y, Low: y, High: y} }

// Tile is a small picture with a caption above it.
type Tile struct {
	Caption string
	Picture image.Image
	// Strong tiles have a frame.
	Strong bool
}

// Tiles is the figure of tiles in a grid, row by row, each side points wide.
func Tiles(title string, columns int, side vg.Length, tiles ...Tile) figures.Figure {
	const gap = vg.Length(6)
	head, caption := vg.Length(gap), vg.Length(0)
	heading := text.Style{Color: color.Black, Font: sans(13), XAlign: draw.XCenter, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	if title != "" {
		head = 26
	}
	captioned := heading
	captioned.Font, captioned.YAlign = sans(10), draw.YBottom
	if slices.ContainsFunc(tiles, func(t Tile) bool { return t.Caption != "" }) {
		caption = 15
	}
	rows := (len(tiles) + columns - 1) / columns
	grid := vg.Length(columns)*(side+gap) + gap
	width := max(grid, heading.Width(title)+2*gap)
	height := head + vg.Length(rows)*(side+caption+gap)
	return figures.Figure{Width: width, Height: height, Draw: func(canvas draw.Canvas) {
		canvas.SetColor(color.White)
		canvas.Fill(canvas.Rectangle.Path())
		canvas.FillText(heading, vg.Point{X: width / 2, Y: height - 6}, title)
		for i, tile := range tiles {
			left := (width-grid)/2 + gap + vg.Length(i%columns)*(side+gap)
			bottom := height - head - vg.Length(i/columns+1)*(side+caption+gap) + gap
			place := vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: left + side, Y: bottom + side}}
			canvas.DrawImage(place, enlarge(tile.Picture, 2*int(side)))
			frame := draw.LineStyle{Color: color.Gray{0xb0}, Width: 0.5}
			if tile.Strong {
				frame = draw.LineStyle{Color: Hue(1), Width: 2.5}
			}
			canvas.StrokeLines(frame, []vg.Point{place.Min, {X: left + side, Y: bottom}, place.Max, {X: left, Y: bottom + side}, place.Min})
			canvas.FillText(captioned, vg.Point{X: left + side/2, Y: bottom + side + 3}, tile.Caption)
		}
	}}
}

// enlarge repeats pixels until the picture is at least that wide, so that they stay squares.
func enlarge(picture image.Image, width int) image.Image {
	bounds := picture.Bounds()
	factor := max((width+bounds.Dx()-1)/bounds.Dx(), 1)
	large := image.NewNRGBA(image.Rect(0, 0, factor*bounds.Dx(), factor*bounds.Dy()))
	for y := range large.Rect.Dy() {
		for x := range large.Rect.Dx() {
			large.Set(x, y, picture.At(bounds.Min.X+x/factor, bounds.Min.Y+y/factor))
		}
	}
	return large
}

// Value is a measured number and the interval in which it may lie. An interval of no length is not drawn.
type Value struct{ Value, Low, High float64 }

// Series is a value for each of some things, NaN where there is none.
type Series struct {
	Name   string
	Values []Value
}

// Dots is the figure of values of the same things, one below the other by name, each series in a colour.
func Dots(title, axis string, names []string, series ...Series) figures.Figure {
	p := Plot(title, axis, "")
	for i, s := range series {
		var points plotter.XYs
		for j, value := range s.Values {
			if math.IsNaN(value.Value) {
				continue
			}
			// Things are told from the top, and series of one thing stand a little apart.
			y := float64(len(names)-1-j) + 0.22*(float64(len(series)-1)/2-float64(i))
			points = append(points, plotter.XY{X: value.Value, Y: y})
			if value.Low < value.High {
				line := Must(plotter.NewLine(plotter.XYs{{X: value.Low, Y: y}, {X: value.High, Y: y}}))
				line.Color, line.Width = Hue(i), 1.5
				p.Add(line)
			}
		}
		dots := Must(plotter.NewScatter(points))
		dots.GlyphStyle = draw.GlyphStyle{Color: Hue(i), Radius: 4, Shape: draw.CircleGlyph{}}
		p.Add(dots)
		if len(series) > 1 {
			p.Legend.Add(s.Name, dots)
		}
	}
	var ticks plot.ConstantTicks
	for j, name := range names {
		// The font has no subscript minus.
		ticks = append(ticks, plot.Tick{Value: float64(len(names) - 1 - j), Label: strings.ReplaceAll(name, "₋", "-")})
	}
	p.Y.Tick.Marker, p.Y.Tick.Label.Font = ticks, sans(11)
	rows := float64(len(names))
	if len(series) > 1 {
		rows += 0.7 * float64(len(series)) // for the legend
	}
	p.Y.Min, p.Y.Max = -0.6, rows-0.4
	if p.X.Min < 0 && p.X.Max > 0 {
		zero := Must(plotter.NewLine(plotter.XYs{{X: 0, Y: -0.6}, {X: 0, Y: float64(len(names)) - 0.4}}))
		zero.Color = color.Gray{0x80}
		p.Add(zero)
	}
	return Draw(p, 480, vg.Length(80+24*rows))
}

// Draw is the figure of a plot, with a margin.
func Draw(p *plot.Plot, width, height vg.Length) figures.Figure {
	return figures.Figure{Width: width, Height: height, Draw: func(canvas draw.Canvas) {
		canvas.SetColor(color.White)
		canvas.Fill(canvas.Rectangle.Path())
		p.Draw(draw.Crop(canvas, 6, -12, 4, -6))
	}}
}

// Plot is an empty plot, with a grid and letters like those of all other figures.
func Plot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font, p.Title.Padding = sans(13), 8
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font, axis.Label.Padding, axis.Tick.Label.Font = sans(12), 5, sans(10)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = roundTicks{}, roundTicks{}
	p.Legend.Top, p.Legend.TextStyle.Font = true, sans(11)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
	return p
}

// roundTicks are ticks at about five round numbers.
type roundTicks struct{}

// Ticks of an axis.
func (roundTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/6)))
	for i := 0; (high-low)/step > 6; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 5, 64)})
	}
	return ticks
}

// sans is a font without serifs.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// Hue is a colour that can be told from the other ones, for each number.
func Hue(i int) color.Color {
	colors := Must(brewer.GetPalette(brewer.TypeQualitative, "Dark2", 8)).Colors()
	return colors[i%len(colors)]
}
