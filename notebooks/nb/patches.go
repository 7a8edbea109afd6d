package nb

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/internal/dataset"
)

// Grey returns the mean of an image's channels [height·width], in grey levels from 0 to 255.
func Grey(images dataset.Images, number int) []float64 {
	checkNumber(number, images.Len())
	one := images.Slice(number, number+1)
	grey := make([]float64, one.Height*one.Width)
	for i, pixel := range one.Pixels {
		grey[i/one.Channels] += float64(pixel) / float64(one.Channels)
	}
	return grey
}

// Unit returns v with mean 0 and unit norm, and the norm that it had without its mean.
func Unit(v []float64) (unit []float64, norm float64) {
	unit = make([]float64, len(v))
	floats.AddConst(-floats.Sum(v)/float64(len(v)), floats.AddTo(unit, unit, v))
	norm = floats.Norm(unit, 2)
	floats.Scale(1/math.Max(norm, 1e-12), unit)
	return unit, norm
}

// Patches returns filters [side, side, 1, count] of mean 0 and unit norm, cut out of random images where there is contrast.
func Patches(images dataset.Images, side, count int) *tensors.Tensor {
	const contrast = 20 // standard deviation in grey levels
	rng := rand.New(rand.NewPCG(1, 1))
	filters := make([]float64, side*side*count)
	const tries = 10_000 // a patch
	for k, tried := 0, 0; k < count; tried++ {
		if tried == tries*count {
			Check(fmt.Errorf("these images have too little contrast for %d filters of %d×%[2]d pixels: choose others", count, side))
		}
		from := Grey(images, rng.IntN(images.Len()))
		x, y := rng.IntN(images.Width-side+1), rng.IntN(images.Height-side+1)
		var patch []float64
		for row := range side {
			patch = append(patch, from[(y+row)*images.Width+x:][:side]...)
		}
		patch, norm := Unit(patch)
		if norm < contrast*float64(side) {
			continue
		}
		for i, value := range patch {
			filters[i*count+k] = value
		}
		k++
	}
	return tensors.FromFlatDataAndDimensions(filters, side, side, 1, count)
}
