package nb

import (
	"fmt"
	"os"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"ebsscgo/internal/device"
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

// Markdown shows text in the cell's output, written in Markdown.
func Markdown(text string) {
	send(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextMarkdown: text}})
}

// Show shows a figure in the cell's output.
func Show(figure Figure) {
	Live{}.Show(figure)
}

// Live is a place in the output of a cell where each figure replaces the one before.
type Live struct{ id string }

// NewLive returns a new place.
func NewLive() Live { return Live{gonbui.UniqueId()} }

// Show shows a figure in this place.
func (l Live) Show(figure Figure) {
	picture := Must(figure.PNG())
	size := map[string]int{"width": int(figure.Width * pixelsPerPoint), "height": int(figure.Height * pixelsPerPoint)}
	send(&protocol.DisplayData{
		Data:      map[protocol.MIMEType]any{protocol.MIMEImagePNG: picture},
		Metadata:  map[string]any{string(protocol.MIMEImagePNG): size},
		DisplayID: l.id,
	})
}

// pixelsPerPoint is the size at which a point is shown; pictures have more pixels than that, for sharp screens.
const pixelsPerPoint = 4.0 / 3

// send sends data to the notebook and waits until it has arrived.
func send(data *protocol.DisplayData) {
	if !gonbui.IsNotebook {
		return
	}
	gonbui.SendData(data)
	gonbui.Sync()
	Check(gonbui.Error())
}
