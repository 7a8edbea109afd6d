package dataset

import (
	"image"
	"math"
	"slices"

	"golang.org/x/image/draw"
)

// digitOf makes an image of that size of a picture of a digit, as MNIST's images were made: white ink
// on black, in a box of 20×20 pixels whose centre of mass is in the middle. It also returns what it
// did, in words, or nothing for a picture that is so already. Of a picture on which there is nothing
// it makes no image, and says so.
//
// Paper is what the median of the picture's border shows, and ink what differs from it by more than
// half of what the strongest does. Differences below a fifth of that are the paper's own.
func digitOf(picture *image.Gray, width, height int) (digit *image.Gray, done []string) {
	const box, least = 20, 32 // pixels of a side; levels of grey
	paper := int(median(border(picture)))
	inverted := paper > 127
	ink, strongest := image.NewGray(picture.Rect), 0
	for at, level := range picture.Pix {
		difference := int(level) - paper
		if inverted {
			difference = -difference
		}
		ink.Pix[at] = uint8(max(0, difference))
		strongest = max(strongest, difference)
	}
	if strongest < least {
		return nil, []string{"nothing on it is lighter or darker than the rest: its scores mean nothing"}
	}
	for at, level := range ink.Pix {
		if stretched := 255 * int(level) / strongest; 5*int(level) < strongest {
			ink.Pix[at] = 0
		} else {
			ink.Pix[at] = uint8(stretched)
		}
	}
	around := inkBox(ink)
	x, y := mass(ink)
	middleX, middleY := float64(width+1)/2, float64(height+1)/2 // MNIST's is that of pixel 14
	off := max(abs(x-middleX), abs(y-middleY))
	if !inverted && ink.Rect.Dx() == width && ink.Rect.Dy() == height &&
		max(around.Dx(), around.Dy()) <= box && off <= 1 {
		return nil, nil
	}
	if inverted {
		done = append(done, "inverted: MNIST's digits are white on black")
	}
	done = append(done, "scaled and centred as MNIST's digits are")
	longer := float64(max(around.Dx(), around.Dy()))
	w := max(1, int(float64(box*around.Dx())/longer+0.5))
	h := max(1, int(float64(box*around.Dy())/longer+0.5))
	small := image.NewGray(image.Rect(0, 0, w, h))
	draw.BiLinear.Scale(small, small.Rect, ink, around, draw.Src, nil)
	x, y = mass(small)
	digit = image.NewGray(image.Rect(0, 0, width, height))
	place := image.Pt(int(math.Round(middleX-x)), int(math.Round(middleY-y)))
	draw.Draw(digit, small.Rect.Add(place), small, image.Point{}, draw.Src)
	return digit, done
}

// border are the values at the edges of a picture.
func border(picture *image.Gray) (values []uint8) {
	bounds := picture.Rect
	for x := bounds.Min.X; x < bounds.Max.X; x++ {
		values = append(
			values,
			picture.GrayAt(x, bounds.Min.Y).Y,
			picture.GrayAt(x, bounds.Max.Y-1).Y,
		)
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		values = append(
			values,
			picture.GrayAt(bounds.Min.X, y).Y,
			picture.GrayAt(bounds.Max.X-1, y).Y,
		)
	}
	return values
}

// median is the middle one of some values.
func median(values []uint8) uint8 {
	slices.Sort(values)
	return values[len(values)/2]
}

// inkBox is the smallest rectangle around what is at least half as strong as can be.
func inkBox(ink *image.Gray) (box image.Rectangle) {
	for y := range ink.Rect.Dy() {
		for x := range ink.Rect.Dx() {
			if ink.GrayAt(x, y).Y > 127 {
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return box
}

// mass is the centre of mass of values, from the upper left corner of the picture.
func mass(values *image.Gray) (x, y float64) {
	sum := 0.0
	for at, value := range values.Pix {
		sum += float64(value)
		x += float64(value) * (float64(at%values.Stride) + 0.5)
		y += float64(value) * (float64(at/values.Stride) + 0.5)
	}
	return x / sum, y / sum
}

func abs(value float64) float64 { return max(value, -value) }
