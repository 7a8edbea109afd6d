package plot_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/plot"
)

// red and blue are the colours of a map's limits.
var red, blue = color.NRGBA{0xb2, 0x18, 0x2b, 255}, color.NRGBA{0x21, 0x66, 0xac, 255}

// Photos are black at low and white at high and beyond, and ink is dark where low is above high.
// Without contrast a photo is grey, and a map of zeros white. Positive numbers of maps are red and
// negative ones blue.
func TestColours(t *testing.T) {
	grey := func(level uint8) color.NRGBA { return color.NRGBA{level, level, level, 255} }
	for _, c := range []struct {
		picture image.Image
		want    []color.NRGBA
	}{
		{plot.Photo([]float64{-1, 0, 1, 9}, 1, 4, 1, -1, 1),
			[]color.NRGBA{grey(0), grey(128), grey(255), grey(255)}},
		{plot.Photo([]float64{1, -1, 0}, 1, 1, 3, -1, 1), []color.NRGBA{{255, 0, 128, 255}}},
		{plot.Photo([]float64{0, 0.5, 1, -1}, 1, 4, 1, 1, 0),
			[]color.NRGBA{grey(255), grey(128), grey(0), grey(255)}},
		{plot.Photo([]float64{0}, 1, 1, 1, 0, 0), []color.NRGBA{grey(128)}},
		{plot.Map([]float64{0}, 1, 1, 0), []color.NRGBA{grey(255)}},
		// cut off at the limit
		{plot.Map([]float64{0, 2, -2}, 1, 3, 1), []color.NRGBA{grey(255), red, blue}},
	} {
		for x, want := range c.want {
			require.Equal(t, want, color.NRGBAModel.Convert(c.picture.At(x, 0)))
		}
	}
	half := plot.Map([]float64{0.5, -0.5}, 1, 2, 1)
	require.Greater(t, half.At(0, 0).(color.NRGBA).R, half.At(0, 0).(color.NRGBA).B)
	require.Greater(t, half.At(1, 0).(color.NRGBA).B, half.At(1, 0).(color.NRGBA).R)
}

// drawn is how large a share of a figure's PNG, which has two pixels a point, has a colour.
func drawn(t *testing.T, figure plot.Figure) (share func(color.Color) float64) {
	content, err := figure.PNG()
	require.NoError(t, err)
	again, err := figure.PNG()
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, again), "the same figure renders to the same bytes")
	picture, err := png.Decode(bytes.NewReader(content))
	require.NoError(t, err)
	bounds := picture.Bounds()
	require.Equal(t, [2]int{2 * int(figure.Width), 2 * int(figure.Height)},
		[2]int{bounds.Dx(), bounds.Dy()})
	return func(wanted color.Color) float64 {
		count := 0
		for y := range bounds.Dy() {
			for x := range bounds.Dx() {
				if color.NRGBAModel.Convert(picture.At(x, y)) == color.NRGBAModel.Convert(wanted) {
					count++
				}
			}
		}
		return float64(count) / float64(bounds.Dx()*bounds.Dy())
	}
}

// Each tile is drawn once, in full.
func TestTiles(t *testing.T) {
	up, down := plot.Tile{Picture: plot.Map([]float64{1}, 1, 1, 1)},
		plot.Tile{Picture: plot.Map([]float64{-1}, 1, 1, 1)}
	figure := plot.Grid{Columns: 2, Side: 50, Tiles: []plot.Tile{up, up, down}}.Draw()
	share := drawn(t, figure)
	tile := 50 * 50 / float64(figure.Width*figure.Height)
	require.InDelta(t, 2*tile, share(red), 0.1*tile)
	require.InDelta(t, tile, share(blue), 0.1*tile)
}

// A row has a dot where a curve has a point, with a line where the point has an interval. Hollow
// dots have less ink. Differences have a line at 0, wherever the values are, and names of any
// length leave room for the values.
func TestDots(t *testing.T) {
	dots := plot.Dots{Title: "title\nsubtitle", X: "axis", Rows: []string{"a", "b"},
		Curves: []plot.Curve{{}}}
	draw := func(points ...plot.Point) plot.Figure {
		dots.Curves[0].Points = points
		return dots.Draw()
	}
	ink := func(points ...plot.Point) float64 { return drawn(t, draw(points...))(plot.Hue(0)) }
	one, both := ink(plot.At(0, 1)), ink(plot.At(0, 1), plot.At(1, 2))
	require.Positive(t, both)
	require.InDelta(t, both/2, one, 0.05*both)
	require.Greater(t, ink(plot.Point{Mean: 1, Low: 0.5, High: 1.5}, plot.At(1, 2)), 1.2*both)
	require.Zero(t, ink())

	short, grey := draw(plot.At(0, 4)), color.Gray{0x80} // of letters, and of the line
	dots.Zero, dots.Curves[0].Hollow = true, true
	require.Less(t, ink(plot.At(0, 4)), one/2)
	require.Greater(t, drawn(t, draw(plot.At(0, 4)))(grey), 10*drawn(t, short)(grey))
	dots.Rows[0] = strings.Repeat("a long name ", 20)
	require.Greater(t, draw(plot.At(0, 4)).Width, short.Width+500)
}

// Row names, captions, a colour bar and a title of more lines enlarge the figure, and an empty cell
// is white. The title's subscripts are whole: the font has each.
func TestGridGrows(t *testing.T) {
	tile := plot.Tile{Picture: plot.Map([]float64{1}, 1, 1, 1)}
	plain := plot.Grid{Title: "title", Columns: 2, Side: 50, Tiles: []plot.Tile{tile, tile}}
	named, captioned, scaled, twoLines, gap := plain, plain, plain, plain, plain
	named.Rows = []string{"conv1"}
	scaled.Scale = 1
	twoLines.Title = "a title that is wider than tiles\nSSC+EBC₆₋₇"
	captioned.Tiles = []plot.Tile{{Caption: "caption"}, tile}
	gap.Tiles = []plot.Tile{tile, {}}
	require.Greater(t, named.Draw().Width, plain.Draw().Width)
	require.Greater(t, scaled.Draw().Height, plain.Draw().Height)
	framed := scaled
	framed.Framed = "what a frame stands for"
	require.Greater(t, framed.Draw().Width, scaled.Draw().Width+50)
	require.Zero(t, drawn(t, scaled.Draw())(plot.Hue(1)))
	require.Positive(t, drawn(t, framed.Draw())(plot.Hue(1)))
	require.Greater(t, captioned.Draw().Height, plain.Draw().Height)
	require.Greater(t, twoLines.Draw().Height, plain.Draw().Height)
	require.Greater(t, twoLines.Draw().Width, plain.Draw().Width)
	svg, err := twoLines.Draw().SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), ">SSC+EBC₆-₇<")
	require.InDelta(t, drawn(t, plain.Draw())(red)/2, drawn(t, gap.Draw())(red), 0.01)
}
