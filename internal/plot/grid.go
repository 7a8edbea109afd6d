package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
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
	// Strong tiles have a coloured frame, see [Grid.Framed].
	Strong bool
}

// Grid arranges tiles in rows and columns.
type Grid struct {
	// Title above the grid, in one or more lines.
	Title string
	// Columns is the number of tiles in a row.
	Columns int
	// Side of a tile in points. Pictures stay sharp and files small if it is a multiple of half their
	// side in pixels.
	Side vg.Length
	// Rows are the names left of the rows; empty for rows without names.
	Rows []string
	// Scale, if not 0, is the limit of [Map] that a colour bar below the tiles shows.
	Scale float64
	// Framed, if not empty, says right of the colour bar what the frame of strong tiles stands for.
	Framed string
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
	style := func(size vg.Length, x text.XAlignment, y text.YAlignment) text.Style {
		return text.Style{Color: color.Black, Font: sans(size), XAlign: x, YAlign: y,
			Handler: plot.DefaultTextHandler}
	}
	title, names, small := style(13, draw.XCenter, draw.YTop), style(10, draw.XRight, draw.YCenter),
		style(10, draw.XCenter, draw.YBottom)
	beside := style(10, draw.XLeft, draw.YCenter)
	top, left := gridGap, gridGap
	if g.Title != "" {
		top += roundUp(title.Height(g.Title)) + gridGap
	}
	for _, name := range g.Rows {
		left = max(left, roundUp(names.Width(name))+3*gridGap)
	}
	var tops []vg.Length // of rows, below the figure's top
	for row := range slices.Chunk(g.Tiles, g.Columns) {
		if slices.ContainsFunc(row, func(t Tile) bool { return t.Caption != "" }) {
			top += gridText
		}
		tops = append(tops, top)
		top += g.Side + gridGap
	}
	height, width := top, max(left+vg.Length(g.Columns)*(g.Side+gridGap),
		roundUp(title.Width(g.Title))+2*gridGap)
	if g.Scale != 0 {
		height += 2*gridText + gridGap
		width = max(width, scaleWidth+2*(gridText+6*gridGap+roundUp(beside.Width(g.Framed))))
	}
	return Figure{Title: g.Title, Width: width, Height: height, Draw: func(canvas draw.Canvas) {
		canvas.FillText(title, vg.Point{X: width / 2, Y: height - gridGap}, printable(g.Title))
		for i, tile := range g.Tiles {
			row, column := i/g.Columns, i%g.Columns
			at := vg.Point{X: left + vg.Length(column)*(g.Side+gridGap), Y: height - tops[row] - g.Side}
			if column == 0 && row < len(g.Rows) {
				canvas.FillText(names, vg.Point{X: left - gridGap, Y: at.Y + g.Side/2}, g.Rows[row])
			}
			tile.draw(canvas, at, g.Side, small)
		}
		if g.Scale != 0 { // the colours of Map, with their labels above
			start := (width - scaleWidth) / 2
			bar := vg.Rectangle{Min: vg.Point{X: start, Y: gridGap},
				Max: vg.Point{X: start + scaleWidth, Y: gridText + 3}}
			canvas.DrawImage(bar, Map(floats.Span(make([]float64, 255), -1, 1), 1, 255, 1))
			for i, label := range []string{fmt.Sprintf("−%.2g", g.Scale), "0",
				fmt.Sprintf("+%.2g", g.Scale)} {
				canvas.FillText(small, vg.Point{X: start + vg.Length(i)*scaleWidth/2, Y: bar.Max.Y + 3}, label)
			}
			if g.Framed != "" {
				frame := vg.Point{X: bar.Max.X + 4*gridGap, Y: gridGap}
				Tile{Picture: Map([]float64{0}, 1, 1, 1), Strong: true}.draw(canvas, frame, gridText-3, small)
				canvas.FillText(beside, frame.Add(vg.Point{X: gridText + gridGap, Y: gridText/2 - 2}), g.Framed)
			}
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
	canvas.SetLineStyle(frame)
	canvas.Stroke(place.Path())
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
