package plot_test

import (
	"bytes"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/plot"
)

func TestPhotoLevels(t *testing.T) {
	photo := plot.Photo([]float64{-1, 0, 1, 9}, 1, 4, 1, -1, 1)
	require.Equal(t, color.NRGBA{0, 0, 0, 255}, photo.At(0, 0))
	require.Equal(t, color.NRGBA{128, 128, 128, 255}, photo.At(1, 0))
	require.Equal(t, color.NRGBA{255, 255, 255, 255}, photo.At(2, 0))
	require.Equal(t, photo.At(2, 0), photo.At(3, 0), "beyond white is white")
	require.Equal(t, color.NRGBA{255, 0, 128, 255}, plot.Photo([]float64{1, -1, 0}, 1, 1, 3, -1, 1).At(0, 0))
}

// Ink is dark where low is above high.
func TestPhotoOfInk(t *testing.T) {
	photo := plot.Photo([]float64{0, 0.5, 1, -1}, 1, 4, 1, 1, 0)
	for x, grey := range []uint8{255, 128, 0, 255} {
		require.Equal(t, color.NRGBA{grey, grey, grey, 255}, photo.At(x, 0))
	}
}

// Without contrast a photo is grey, and a map of zeros white.
func TestNoContrast(t *testing.T) {
	require.Equal(t, color.NRGBA{128, 128, 128, 255}, plot.Photo([]float64{0}, 1, 1, 1, 0, 0).At(0, 0))
	require.Equal(t, color.NRGBA{255, 255, 255, 255}, plot.Map([]float64{0}, 1, 1, 0).At(0, 0))
}

// Positive numbers are red and negative ones blue, equally strong at equal distance from 0.
func TestMapColours(t *testing.T) {
	picture := plot.Map([]float64{0, 0.5, 2, -0.5}, 2, 2, 1)
	at := func(x, y int) color.NRGBA { return picture.At(x, y).(color.NRGBA) }
	require.Equal(t, color.NRGBA{255, 255, 255, 255}, at(0, 0))
	require.Greater(t, at(1, 0).R, at(1, 0).B)
	require.Equal(t, color.NRGBA{0xb2, 0x18, 0x2b, 255}, at(0, 1), "cut off at the limit")
	require.Greater(t, at(1, 1).B, at(1, 1).R)
}

// drawn is a figure's picture, as wide as the figure says.
func drawn(t *testing.T, figure plot.Figure) (share func(color.NRGBA) float64) {
	content, err := figure.PNG()
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(content))
	require.NoError(t, err)
	bounds := picture.Bounds()
	require.InDelta(t, float64(figure.Width)*2, bounds.Dx(), 2)
	return func(wanted color.NRGBA) float64 {
		count := 0
		for y := range bounds.Dy() {
			for x := range bounds.Dx() {
				if color.NRGBAModel.Convert(picture.At(x, y)) == wanted {
					count++
				}
			}
		}
		return float64(count) / float64(bounds.Dx()*bounds.Dy())
	}
}

// grid is a grid of tiles 50 points wide.
func grid(title string, columns int, tiles ...plot.Tile) plot.Figure {
	return plot.Grid{Title: title, Columns: columns, Side: 50, Tiles: tiles}.Draw()
}

// Each tile is drawn once, in full.
func TestTiles(t *testing.T) {
	red, blue := color.NRGBA{0xb2, 0x18, 0x2b, 255}, color.NRGBA{0x21, 0x66, 0xac, 255}
	figure := grid("", 2, plot.Tile{Picture: plot.Map([]float64{1}, 1, 1, 1)}, plot.Tile{Picture: plot.Map([]float64{1}, 1, 1, 1)},
		plot.Tile{Picture: plot.Map([]float64{-1}, 1, 1, 1)})
	share := drawn(t, figure)
	tile := 50 * 50 / float64(figure.Width*figure.Height)
	require.InDelta(t, 2*tile, share(red), 0.1*tile)
	require.InDelta(t, tile, share(blue), 0.1*tile)
}

// A row has a dot where a curve has a point, with a line where the point has an interval.
func TestDots(t *testing.T) {
	ink := func(points ...plot.Point) float64 {
		figure, err := plot.Dots{Title: "title\nsubtitle", X: "axis", Rows: []string{"a", "b"}, Curves: []plot.Curve{{Points: points}}}.Draw()
		require.NoError(t, err)
		return drawn(t, figure)(color.NRGBAModel.Convert(plot.Hue(0)).(color.NRGBA))
	}
	both := ink(plot.At(0, 1), plot.At(1, 2))
	require.Positive(t, both)
	require.InDelta(t, both/2, ink(plot.At(0, 1)), 0.05*both)
	require.Greater(t, ink(plot.Point{Mean: 1, Low: 0.5, High: 1.5}, plot.At(1, 2)), 1.2*both)
	require.Zero(t, ink())
}

// Hollow dots have less ink. Differences have a line at 0, wherever the values are, and names of any length leave room for the values.
func TestDotsOfDifferences(t *testing.T) {
	dots := plot.Dots{Title: "title", X: "axis", Rows: []string{"a"}, Curves: []plot.Curve{{Points: []plot.Point{plot.At(0, 4)}}}}
	ink := func(hue color.Color) float64 {
		figure, err := dots.Draw()
		require.NoError(t, err)
		return drawn(t, figure)(color.NRGBAModel.Convert(hue).(color.NRGBA))
	}
	full := ink(plot.Hue(0))
	before := ink(color.Gray{0x80}) // of letters
	dots.Zero, dots.Curves[0].Hollow = true, true
	require.Less(t, ink(plot.Hue(0)), full/2)
	require.Greater(t, ink(color.Gray{0x80}), 10*before)
	short, err := dots.Draw()
	require.NoError(t, err)
	dots.Rows[0] = strings.Repeat("a long name ", 20)
	long, err := dots.Draw()
	require.NoError(t, err)
	require.Greater(t, long.Width, short.Width+500)
}

// Row names, captions, a colour bar and a title of more lines enlarge the figure, and an empty cell is white. The title's subscripts are whole: the font
// has each.
func TestGridGrows(t *testing.T) {
	red := plot.Tile{Picture: plot.Map([]float64{1}, 1, 1, 1)}
	plain := plot.Grid{Title: "title", Columns: 2, Side: 50, Tiles: []plot.Tile{red, red}}
	named, captioned, scaled, twoLines, gap := plain, plain, plain, plain, plain
	named.Rows = []string{"conv1"}
	scaled.Scale = 1
	twoLines.Title = "a title that is wider than tiles\nSSC+EBC₆₋₇"
	captioned.Tiles = []plot.Tile{{Caption: "caption"}, red}
	gap.Tiles = []plot.Tile{red, {}}
	require.Greater(t, named.Draw().Width, plain.Draw().Width)
	require.Greater(t, scaled.Draw().Height, plain.Draw().Height)
	framed := scaled
	framed.Framed = "what a frame stands for"
	require.Greater(t, framed.Draw().Width, scaled.Draw().Width+50)
	orange := color.NRGBAModel.Convert(plot.Hue(1)).(color.NRGBA)
	require.Zero(t, drawn(t, scaled.Draw())(orange))
	require.Positive(t, drawn(t, framed.Draw())(orange))
	require.Greater(t, captioned.Draw().Height, plain.Draw().Height)
	require.Greater(t, twoLines.Draw().Height, plain.Draw().Height)
	require.Greater(t, twoLines.Draw().Width, plain.Draw().Width)
	svg, err := twoLines.Draw().SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), ">SSC+EBC₆ˍ₇<")
	hue := color.NRGBA{0xb2, 0x18, 0x2b, 255}
	require.InDelta(t, drawn(t, plain.Draw())(hue)/2, drawn(t, gap.Draw())(hue), 0.01)
}
