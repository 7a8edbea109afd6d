package plot

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"ebsscgo/internal/files"
)

// Figure is a picture that can be drawn in any format.
type Figure struct {
	// Width and Height in points, 1/72 inch.
	Width, Height vg.Length
	// Draw draws the picture, filling the canvas.
	Draw func(canvas draw.Canvas)
}

// pngDPI is the resolution of PNG files: two pixels a point, for screens that show them at half the size.
const pngDPI = 144

// PNG is the figure in pixels.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(f.Width, f.Height), vgimg.UseDPI(pngDPI))
	f.Draw(draw.New(canvas))
	var picture bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&picture); err != nil {
		return nil, fmt.Errorf("drawing a PNG: %w", err)
	}
	return picture.Bytes(), nil
}

// SVG is the figure in lines.
func (f Figure) SVG() ([]byte, error) {
	canvas := vgsvg.New(f.Width, f.Height)
	f.Draw(draw.New(canvas))
	var picture bytes.Buffer
	if _, err := canvas.WriteTo(&picture); err != nil {
		return nil, fmt.Errorf("drawing an SVG: %w", err)
	}
	// Few readers have these fonts; letters of the others are as wide.
	return bytes.ReplaceAll(picture.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// Write writes the figure to path.svg and path.png, each in one step.
func (f Figure) Write(path string) error {
	for suffix, render := range map[string]func() ([]byte, error){".svg": f.SVG, ".png": f.PNG} {
		picture, err := render()
		if err != nil {
			return fmt.Errorf("%s%s: %w", path, suffix, err)
		}
		if err := files.Write(path+suffix, picture); err != nil {
			return err
		}
	}
	return nil
}

// WritePNG writes a figure that is made of images to path.png in one step: as SVG it would be no smaller, nor sharper.
func (f Figure) WritePNG(path string) error {
	picture, err := f.PNG()
	if err != nil {
		return fmt.Errorf("%s.png: %w", path, err)
	}
	return files.Write(path+".png", picture)
}
