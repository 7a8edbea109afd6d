package plot

import (
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	xdraw "golang.org/x/image/draw"
)

// Tile is a small picture with a caption above it. A nil picture leaves the cell empty.
type Tile struct {
	Caption string
	Picture image.Image
	// Strong tiles have a coloured frame.
	Strong bool
}

// Grid arranges tiles in rows and columns.
type Grid struct {
	// Title above the grid, in one or more lines.
	Title string
	// Columns is the number of tiles in a row.
	Columns int
	// Side of a tile in points. Pictures stay sharp and files small if it is a multiple of half their side in pixels.
	Side vg.Length
	// Rows are the names left of the rows; empty for rows without names.
	Rows []string
	// Scale, if not empty, labels a colour bar of [Map]: the lower end, 0 and the upper end.
	Scale [3]string
	// Tiles row by row.
	Tiles []Tile
}

// Measures of a grid in points.
const (
	gridGap    = vg.Length(6)  // between tiles
	gridText   = vg.Length(15) // height of a caption or of the colour bar
	scaleWidth = vg.Length(180)
)

// Draw lays out and draws the grid.
func (g Grid) Draw() Figure {
	title := text.Style{Color: color.Black, Font: sans(13), XAlign: draw.XCenter, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	small := text.Style{Color: color.Black, Font: sans(10), XAlign: draw.XCenter, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler}
	names := small
	names.XAlign, names.YAlign = draw.XRight, draw.YCenter

	head, foot, left := gridGap, vg.Length(0), vg.Length(0)
	if g.Title != "" {
		head += roundUp(title.Height(g.Title)) + gridGap
	}
	if g.Scale != [3]string{} {
		foot = 2*gridText + gridGap
	}
	for _, name := range g.Rows {
		left = max(left, roundUp(names.Width(name))+2*gridGap)
	}
	// A row is higher if one of its tiles has a caption.
	rows := slices.Collect(slices.Chunk(g.Tiles, g.Columns))
	captioned := func(row []Tile) bool { return slices.ContainsFunc(row, func(t Tile) bool { return t.Caption != "" }) }
	height := head + foot
	for _, row := range rows {
		height += g.Side + gridGap
		if captioned(row) {
			height += gridText
		}
	}
	grid := left + vg.Length(g.Columns)*(g.Side+gridGap) + gridGap
	width := max(grid, roundUp(title.Width(g.Title))+2*gridGap)
	return Figure{Width: width, Height: height, Draw: func(canvas draw.Canvas) {
		canvas.SetColor(color.White)
		canvas.Fill(canvas.Rectangle.Path())
		canvas.FillText(title, vg.Point{X: width / 2, Y: height - gridGap}, printable(g.Title))
		bottom := height - head
		for i, row := range rows {
			if captioned(row) {
				bottom -= gridText
			}
			bottom -= g.Side
			at := vg.Point{X: roundUp((width-grid)/2) + left + gridGap, Y: bottom}
			if i < len(g.Rows) {
				canvas.FillText(names, vg.Point{X: at.X - gridGap, Y: at.Y + g.Side/2}, g.Rows[i])
			}
			for _, tile := range row {
				tile.draw(canvas, at, g.Side, small)
				at.X += g.Side + gridGap
			}
			bottom -= gridGap
		}
		if foot > 0 {
			g.drawScale(canvas, vg.Point{X: (width - scaleWidth) / 2, Y: gridGap}, small)
		}
	}}
}

// draw draws a tile with its lower left corner at a point.
func (t Tile) draw(canvas draw.Canvas, at vg.Point, side vg.Length, caption text.Style) {
	canvas.FillText(caption, vg.Point{X: at.X + side/2, Y: at.Y + side + 3}, t.Caption)
	if t.Picture == nil {
		return
	}
	place := vg.Rectangle{Min: at, Max: vg.Point{X: at.X + side, Y: at.Y + side}}
	canvas.DrawImage(place, enlarge(t.Picture, 2*int(side)))
	frame := draw.LineStyle{Color: color.Gray{0xb0}, Width: 0.5}
	if t.Strong {
		frame = draw.LineStyle{Color: Hue(1), Width: 2.5}
	}
	canvas.StrokeLines(frame, []vg.Point{place.Min, {X: place.Max.X, Y: place.Min.Y}, place.Max, {X: place.Min.X, Y: place.Max.Y}, place.Min})
}

// drawScale draws the colour bar of Map with its labels above.
func (g Grid) drawScale(canvas draw.Canvas, at vg.Point, caption text.Style) {
	const steps = 255
	var values []float64
	for i := range steps {
		values = append(values, 2*float64(i)/(steps-1)-1)
	}
	height := gridText - 3
	canvas.DrawImage(vg.Rectangle{Min: at, Max: vg.Point{X: at.X + scaleWidth, Y: at.Y + height}}, Map(values, 1, steps, 1))
	for i, label := range g.Scale {
		canvas.FillText(caption, vg.Point{X: at.X + vg.Length(i)*scaleWidth/2, Y: at.Y + height + 3}, label)
	}
}

// roundUp rounds up to full points, to align the pixels of tiles with those of the figure.
func roundUp(length vg.Length) vg.Length { return vg.Length(math.Ceil(float64(length))) }

// enlarge scales a picture up by an integer factor to at least that width, without interpolation.
func enlarge(picture image.Image, width int) image.Image {
	bounds := picture.Bounds()
	factor := max((width+bounds.Dx()-1)/bounds.Dx(), 1)
	large := image.NewNRGBA(image.Rect(0, 0, factor*bounds.Dx(), factor*bounds.Dy()))
	xdraw.NearestNeighbor.Scale(large, large.Rect, picture, bounds, xdraw.Src, nil)
	return large
}
