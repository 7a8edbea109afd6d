package plot

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a picture that renders as SVG and PNG. The same figure renders to the same bytes.
type Figure struct {
	// Width and Height in points, 1/72 inch.
	Width, Height vg.Length
	// Draw draws the picture on a canvas of that size.
	Draw func(canvas draw.Canvas)
}

// pngDPI is the resolution of PNG files: two pixels a point, for screens of double density.
const pngDPI = 144

// PNG renders the figure as pixels.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(f.Width, f.Height), vgimg.UseDPI(pngDPI))
	f.Draw(draw.New(canvas))
	var content bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&content); err != nil {
		return nil, fmt.Errorf("rendering a PNG: %w", err)
	}
	return content.Bytes(), nil
}

// SVG renders the figure as vectors.
func (f Figure) SVG() ([]byte, error) {
	canvas := vgsvg.New(f.Width, f.Height)
	f.Draw(draw.New(canvas))
	var content bytes.Buffer
	if _, err := canvas.WriteTo(&content); err != nil {
		return nil, fmt.Errorf("rendering an SVG: %w", err)
	}
	// Most readers lack the Liberation fonts; the fallbacks have the same metrics.
	return bytes.ReplaceAll(content.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}
