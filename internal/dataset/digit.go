package dataset

import (
	"image"
	"math"
	"slices"

	"golang.org/x/image/draw"
)

// digitOf makes a digit of width×height pixels of a picture, as MNIST's were made: white ink on
// black, in a box of 20×20 pixels, with the centre of mass in the middle. It also returns what it
// did, in words. It makes no digit, and says nothing, of a picture that is already like that; of a
// picture with nothing on it, it makes none, and says so.
//
// The paper is the median of the picture's border. Ink differs from it by more than half of what
// the strongest pixel does. Differences below a fifth of that are the paper's own.
func digitOf(picture *image.Gray, width, height int) (digit *image.Gray, done []string) {
	const box, least = 20, 32 // pixels of a side; levels of grey
	paper := int(paperOf(picture))
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
		if 5*int(level) < strongest {
			level = 0
		}
		ink.Pix[at] = uint8(255 * int(level) / strongest)
	}
	around := inkBox(ink)
	longer := max(around.Dx(), around.Dy())
	middleX, middleY := float64(width+1)/2, float64(height+1)/2 // MNIST's is that of pixel 14
	x, y := mass(ink)
	centred := max(math.Abs(x-middleX), math.Abs(y-middleY)) <= 1
	if !inverted && centred && longer <= box && ink.Rect.Dx() == width && ink.Rect.Dy() == height {
		return nil, nil
	}
	if inverted {
		done = append(done, "inverted: MNIST's digits are white on black")
	}
	done = append(done, "scaled and centred as MNIST's digits are")
	scaled := func(side int) int { return max(1, int(float64(box*side)/float64(longer)+0.5)) }
	small := image.NewGray(image.Rect(0, 0, scaled(around.Dx()), scaled(around.Dy())))
	draw.BiLinear.Scale(small, small.Rect, ink, around, draw.Src, nil)
	x, y = mass(small)
	digit = image.NewGray(image.Rect(0, 0, width, height))
	place := image.Pt(int(math.Round(middleX-x)), int(math.Round(middleY-y)))
	draw.Draw(digit, small.Rect.Add(place), small, image.Point{}, draw.Src)
	return digit, done
}

// paperOf returns the median of the values at the edges of a picture.
func paperOf(picture *image.Gray) uint8 {
	first, last := picture.Pix[:picture.Stride], picture.Pix[len(picture.Pix)-picture.Stride:]
	values := slices.Concat(first, last)
	for row := range slices.Chunk(picture.Pix, picture.Stride) {
		values = append(values, row[0], row[len(row)-1])
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// inkBox returns the smallest rectangle around the pixels that are at least half as strong as can
// be.
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

// mass returns the centre of mass of values, from the upper left corner of the picture.
func mass(values *image.Gray) (x, y float64) {
	sum := 0.0
	for at, value := range values.Pix {
		sum += float64(value)
		x += float64(value) * (float64(at%values.Stride) + 0.5)
		y += float64(value) * (float64(at/values.Stride) + 0.5)
	}
	return x / sum, y / sum
}
