package nb

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot/vg"

	"ebsscgo/internal/device"
	"ebsscgo/internal/plot"
)

// Check ends the cell if err is not nil, with one line on standard error. The kernel writes the
// cell's number and line before it.
func Check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, place()+device.OneLine(err))
		gonbui.Sync()
		os.Exit(1)
	}
}

// place returns the line of the cell's program that called this package, as Go writes it before an
// error. GoNB 0.11.4 ends with a panic of its own where a text with colons stands before the line.
func place() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "main.") && gonbui.IsNotebook {
			return fmt.Sprintf("%s:%d: ", frame.File, frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// Must returns value if err is nil; otherwise it ends the cell like Check.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Markdown shows text in the cell's output, written in Markdown.
func Markdown(text string) { markdown(text, "") }

// markdown shows text in the place with an ID, as show does.
func markdown(text, id string) {
	send(&protocol.DisplayData{
		Data:      map[protocol.MIMEType]any{protocol.MIMETextMarkdown: text},
		DisplayID: id,
	})
}

// Table shows a table. Headings and rows have "|" between their columns. All columns but the first
// are aligned to the right.
func Table(headings string, rows ...string) {
	rule := "---" + strings.Repeat(" | ---:", strings.Count(headings, "|"))
	Markdown("| " + strings.Join(slices.Insert(rows, 0, headings, rule), " |\n| ") + " |\n")
}

// ShowTiles shows tiles in rows of so many columns, each tile with sides of that length in points.
func ShowTiles(title string, columns int, side vg.Length, tiles ...plot.Tile) {
	Show(plot.Grid{Title: title, Columns: columns, Side: side, Tiles: tiles}.Draw())
}

// Around returns a tile of numbers [height, width, channels] around 0, which is grey; limit is
// white and −limit black.
func Around(caption string, numbers []float64, height, width, channels int,
	limit float64) plot.Tile {
	picture := plot.Photo(numbers, height, width, channels, -limit, limit)
	return plot.Tile{Caption: caption, Picture: picture}
}

// ShowCharts shows line charts, one below the other.
func ShowCharts(charts ...plot.Chart) { Show(Must(plot.Charts(charts...))) }

// Show shows a figure in the cell's output.
func Show(figure plot.Figure) { show(figure, "") }

// show shows a figure in the place with an ID, where each figure replaces the one before; with
// none, in a place of its own.
func show(figure plot.Figure, id string) {
	picture := small(Must(png.Decode(bytes.NewReader(Must(figure.PNG())))))
	// It has more pixels, for sharp screens.
	size := map[string]int{"width": int(figure.Width * 4 / 3), "height": int(figure.Height * 4 / 3)}
	send(&protocol.DisplayData{
		Data:      map[protocol.MIMEType]any{protocol.MIMEImagePNG: picture},
		Metadata:  map[string]any{string(protocol.MIMEImagePNG): size},
		DisplayID: id,
	})
}

// small encodes a PNG file of a picture in 32 levels each of red, green and blue, and if it has few
// colours, in its 256 most frequent ones. It takes a third of the bytes: notebooks are committed
// with their pictures.
func small(picture image.Image) []byte {
	bounds, counts := picture.Bounds(), map[color.Color]int{}
	var rounded draw.Image = image.NewNRGBA(bounds)
	level := func(v uint32) uint8 { return uint8(v>>11<<3 | v>>13) }
	for i := range bounds.Dx() * bounds.Dy() {
		r, g, b, _ := picture.At(i%bounds.Dx(), i/bounds.Dx()).RGBA()
		colour := color.NRGBA{level(r), level(g), level(b), 0xff}
		rounded.Set(i%bounds.Dx(), i/bounds.Dx(), colour)
		counts[colour]++
	}
	if len(counts) <= 1024 { // a chart of ten smooth lines has more than 512
		palette := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int {
			return cmp.Or(counts[b]-counts[a], strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
		})
		rounded = image.NewPaletted(bounds, palette[:min(256, len(palette))])
		draw.Draw(rounded, bounds, picture, image.Point{}, draw.Src)
	}
	var file bytes.Buffer
	Check(png.Encode(&file, rounded))
	return file.Bytes()
}

// send sends data to the notebook and waits until it has arrived.
func send(data *protocol.DisplayData) {
	if gonbui.IsNotebook {
		gonbui.SendData(data)
		gonbui.Sync()
		Check(gonbui.Error())
	}
}
