package plot

import (
	"image"
	"image/color"
	"math"
)

// Photo renders an image [height, width, channels] with 1 channel (grey) or 3 (colours): low is
// black, high is white, and values beyond are clipped. With low above high large values are dark,
// as ink.
func Photo(values []float64, height, width, channels int, low, high float64) image.Image {
	if !(high > low || high < low) {
		low, high = low-1, low+1 // a contrast of 0: all is grey
	}
	level := func(value float64) uint8 {
		return uint8(math.Round(255 * min(max((value-low)/(high-low), 0), 1)))
	}
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range height * width {
		pixel := values[i*channels:][:channels]
		picture.SetNRGBA(i%width, i/width, color.NRGBA{level(pixel[0]), level(pixel[channels/2]),
			level(pixel[channels-1]), 0xff})
	}
	return picture
}

// Map renders numbers [height, width] in a diverging colour map: 0 is white, limit red and −limit
// blue; values beyond are clipped.
func Map(values []float64, height, width int, limit float64) image.Image {
	if !(limit > 0) {
		limit = 1 // all is 0
	}
	red, blue := color.NRGBA{0xb2, 0x18, 0x2b, 0xff}, color.NRGBA{0x21, 0x66, 0xac, 0xff}
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range height * width {
		strength, hue := min(values[i]/limit, 1), red
		if strength < 0 {
			strength, hue = min(-strength, 1), blue
		}
		mix := func(full uint8) uint8 { return uint8(math.Round(255 + strength*(float64(full)-255))) }
		picture.SetNRGBA(i%width, i/width, color.NRGBA{mix(hue.R), mix(hue.G), mix(hue.B), 0xff})
	}
	return picture
}
