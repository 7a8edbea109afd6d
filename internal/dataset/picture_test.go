package dataset_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/dataset"
)

// save writes a picture.
func save(t *testing.T, path string, picture image.Image) {
	t.Helper()
	var content bytes.Buffer
	require.NoError(t, png.Encode(&content, picture))
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o644))
}

// Of a wide picture the square in the middle is read; a network for grey images sees grey levels.
func TestReadPictures(t *testing.T) {
	picture := image.NewNRGBA(image.Rect(0, 0, 8, 4)) // red, then four columns of blue, then red
	for y := range 4 {
		for x := range 8 {
			picture.Set(x, y, color.NRGBA{R: 255, A: 255})
			if x >= 2 && x < 6 {
				picture.Set(x, y, color.NRGBA{B: 200, A: 255})
			}
		}
	}
	path := filepath.Join(t.TempDir(), "wide.png")
	save(t, path, picture)
	images, err := dataset.ReadPictures([]string{path, path}, 4, 4, 3)
	require.NoError(t, err)
	require.Equal(t, 2, images.Len())
	for i := 0; i < len(images.Pixels); i += 3 {
		require.Equal(t, []uint8{0, 0, 200}, images.Pixels[i:i+3])
	}
	grey, err := dataset.ReadPictures([]string{path}, 2, 2, 1)
	require.NoError(t, err)
	level := color.GrayModel.Convert(color.NRGBA{B: 200, A: 255}).(color.Gray).Y
	require.Equal(t, []uint8{level, level, level, level}, grey.Pixels)

	ink := image.NewNRGBA(image.Rect(0, 0, 4, 4)) // black on nothing
	ink.Set(0, 0, color.NRGBA{A: 255})
	save(t, path, ink)
	images, err = dataset.ReadPictures([]string{path}, 4, 4, 1)
	require.NoError(t, err)
	require.Equal(t, []uint8{0, 255}, []uint8{images.Pixels[0], images.Pixels[15]}, "what is transparent is white")

	require.NoError(t, os.WriteFile(path, []byte("no picture"), 0o600))
	_, err = dataset.ReadPictures([]string{path}, 4, 4, 3)
	require.ErrorContains(t, err, "reading "+path)
}
