package nb

import (
	"fmt"
	"os"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot/vg"

	"ebsscgo/internal/device"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/report"
)

// Check ends the cell if err is not nil, with one line on standard error.
func Check(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, device.OneLine(err))
	gonbui.Sync()
	os.Exit(1)
}

// Must returns value if err is nil; otherwise it ends the cell like Check.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// ShowTable shows a table of the reports, unless it has no rows.
func ShowTable(t report.Table) {
	if len(t.Rows) > 0 {
		markdown(t.Markdown())
	}
}

// markdown shows text in the cell's output, written in Markdown.
func markdown(text string) {
	send(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextMarkdown: text}})
}

// Table is a table to show in a cell's output.
type Table struct{ text strings.Builder }

// NewTable returns a table without rows. All columns but the first are aligned to the right.
func NewTable(headings ...string) *Table {
	t := &Table{}
	fmt.Fprintf(&t.text, "| %s |\n|---|%s\n", strings.Join(headings, " | "), strings.Repeat("---:|", len(headings)-1))
	return t
}

// Cells are the columns of numbers, each in that format, for the format of [Table.Row].
func Cells(format string, numbers ...float64) string {
	cells := make([]string, len(numbers))
	for i, number := range numbers {
		cells[i] = fmt.Sprintf(format, number)
	}
	return strings.Join(cells, " | ")
}

// Row adds a row, whose format separates columns by "|".
func (t *Table) Row(format string, values ...any) {
	fmt.Fprintf(&t.text, "| "+format+" |\n", values...)
}

// Show shows the table, and below it a note in Markdown.
func (t *Table) Show(note string, values ...any) {
	markdown(t.text.String() + "\n" + fmt.Sprintf(note, values...))
}

// ShowTiles shows tiles in rows of so many columns, each tile with sides of that length in points.
func ShowTiles(title string, columns int, side vg.Length, tiles ...plot.Tile) {
	Show(plot.Grid{Title: title, Columns: columns, Side: side, Tiles: tiles}.Draw())
}

// ShowChart shows a line chart.
func ShowChart(chart plot.Chart) { Show(Must(chart.Draw())) }

// Show shows a figure in the cell's output.
func Show(figure plot.Figure) { show(figure, "") }

// pixelsPerPoint is the size at which a point is shown; pictures have more pixels than that, for sharp screens.
const pixelsPerPoint = 4.0 / 3

// show shows a figure in the place with an ID, where each figure replaces the one before; with none, in a place of its own.
func show(figure plot.Figure, id string) {
	picture := Must(figure.PNG())
	size := map[string]int{"width": int(figure.Width * pixelsPerPoint), "height": int(figure.Height * pixelsPerPoint)}
	send(&protocol.DisplayData{
		Data:      map[protocol.MIMEType]any{protocol.MIMEImagePNG: picture},
		Metadata:  map[string]any{string(protocol.MIMEImagePNG): size},
		DisplayID: id,
	})
}

// send sends data to the notebook and waits until it has arrived.
func send(data *protocol.DisplayData) {
	if !gonbui.IsNotebook {
		return
	}
	gonbui.SendData(data)
	gonbui.Sync()
	Check(gonbui.Error())
}
