package dataset

import (
	"image"
	"image/color"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/draw"

	"ebsscgo/experiments"
)

// seven draws a seven with strokes of width thick, into a box of a picture.
func seven(width, height int, box image.Rectangle, thick int, paper, ink uint8) *image.Gray {
	picture := image.NewGray(image.Rect(0, 0, width, height))
	draw.Draw(picture, picture.Rect, image.NewUniform(color.Gray{Y: paper}), image.Point{}, draw.Src)
	top := image.Rect(box.Min.X, box.Min.Y, box.Max.X, box.Min.Y+thick)
	down := image.Rect(box.Max.X-thick, box.Min.Y, box.Max.X, box.Max.Y)
	for _, stroke := range []image.Rectangle{top, down} {
		draw.Draw(picture, stroke, image.NewUniform(color.Gray{Y: ink}), image.Point{}, draw.Src)
	}
	return picture
}

// A digit becomes one of MNIST's kind wherever it stands, on whatever paper: in a box of 20 pixels,
// with the centre of mass in that of pixel 14, white on black.
func TestDigit(t *testing.T) {
	var first *image.Gray
	for name, picture := range map[string]*image.Gray{
		"ink on paper":      seven(300, 200, image.Rect(10, 20, 70, 120), 12, 230, 20),
		"pale ink":          seven(300, 200, image.Rect(10, 20, 70, 120), 12, 255, 150),
		"chalk on a board":  seven(300, 200, image.Rect(200, 90, 260, 190), 12, 60, 240),
		"white on black":    seven(500, 500, image.Rect(100, 90, 220, 290), 24, 0, 255),
		"a small one":       seven(90, 60, image.Rect(30, 5, 60, 55), 6, 255, 0),
		"off the middle":    seven(28, 28, image.Rect(0, 0, 12, 20), 2, 0, 255),
		"at 28x28 on paper": seven(28, 28, image.Rect(8, 4, 20, 24), 2, 255, 0),
	} {
		digit, done := digitOf(picture, 28, 28)
		require.NotNil(t, digit, name)
		x, y := mass(digit)
		require.InDelta(t, 14.5, x, 0.6, name)
		require.InDelta(t, 14.5, y, 0.6, name)
		box := inkBox(digit)
		require.InDelta(t, 20, box.Dy(), 1, name)
		require.InDelta(t, 12, box.Dx(), 1, name)
		require.EqualValues(t, 0, digit.Pix[0])
		paper := paperOf(picture)
		require.Equal(t, paper > 127, len(done) == 2, name)
		if first == nil {
			first = digit
		}
		difference := 0.0
		for at := range digit.Pix {
			difference += math.Abs(float64(digit.Pix[at]) - float64(first.Pix[at]))
		}
		require.Less(t, difference/784, 12.0, "%s: another digit", name)
	}
	padded, _ := digitOf(seven(300, 200, image.Rect(10, 20, 70, 120), 12, 230, 20), 32, 32)
	x, y := mass(padded)
	require.InDelta(t, 16.5, x, 0.6)
	require.InDelta(t, 16.5, y, 0.6)
}

// What is a digit of MNIST's already stays as it is. So does a picture with nothing on it, which is
// said.
func TestDigitStays(t *testing.T) {
	digit, done := digitOf(seven(28, 28, image.Rect(4, 8, 20, 28), 3, 0, 255), 28, 28)
	require.Nil(t, digit, "its mass is in the middle")
	require.Empty(t, done)
	for _, picture := range []*image.Gray{
		seven(30, 30, image.Rect(4, 8, 20, 28), 3, 200, 190), image.NewGray(image.Rect(0, 0, 1, 1)),
	} {
		digit, done := digitOf(picture, 28, 28)
		require.Nil(t, digit)
		require.Len(t, done, 1)
		require.Contains(t, done[0], "its scores mean nothing")
	}
	set, err := Local(experiments.MNIST, "")
	if set == nil || err != nil {
		t.Skip("MNIST is not in the cache")
	}
	for i := range set.Test.Len() {
		pixels := set.Test.Slice(i, i+1).Pixels
		_, done := digitOf(&image.Gray{Pix: pixels, Stride: 28, Rect: image.Rect(0, 0, 28, 28)}, 28, 28)
		require.Nil(t, done, "test image %d", i)
	}
}

// Pictures for a network of digits say what was done to them, and others are only scaled.
func TestReadDigits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seven.png")
	save(t, path, seven(300, 200, image.Rect(10, 20, 70, 120), 12, 230, 20))
	for _, channels := range []int{1, 3} {
		images, read, unread := readPictures(t, 28, channels, true, path)
		require.Empty(t, unread)
		require.Len(t, read[0].Done, 2)
		require.Contains(t, read[0].Done[0], "inverted")
		require.EqualValues(t, 0, images.Pixels[0])
		images, read, _ = readPictures(t, 28, channels, false, path)
		require.Empty(t, read[0].Done)
		require.EqualValues(t, 230, images.Pixels[0])
	}
}
