package nb

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/internal/dataset"
)

// Grey returns the mean of an image's channels [height·width], in grey levels from 0 to 255.
func Grey(images dataset.Images, number int) []float64 {
	one := images.Slice(number, number+1)
	grey := make([]float64, one.Height*one.Width)
	for i, pixel := range one.Pixels {
		grey[i/one.Channels] += float64(pixel) / float64(one.Channels)
	}
	return grey
}

// Unit returns v less its mean, at unit norm, and the norm of v less its mean.
func Unit(v []float64) (unit []float64, norm float64) {
	unit = make([]float64, len(v))
	floats.AddConst(-floats.Sum(v)/float64(len(v)), floats.AddTo(unit, unit, v))
	norm = floats.Norm(unit, 2)
	floats.Scale(1/math.Max(norm, 1e-12), unit)
	return unit, norm
}

// Patches returns filters [side, side, 1, count] of mean 0 and unit norm, cut out of random images:
// of ten times as many, those of most contrast.
func Patches(images dataset.Images, side, count int) *tensors.Tensor {
	type patch struct {
		unit []float64
		norm float64
	}
	if most := min(images.Width, images.Height); side < 1 || side > most {
		Check(fmt.Errorf("there are no patches of side %d: choose a number from 1 to %d", side, most))
	}
	rng, all := rand.New(rand.NewPCG(1, 1)), make([]patch, 10*count)
	for k := range all {
		from := Grey(images, rng.IntN(images.Len()))
		x, y := rng.IntN(images.Width-side+1), rng.IntN(images.Height-side+1)
		var pixels []float64
		for row := range side {
			pixels = append(pixels, from[(y+row)*images.Width+x:][:side]...)
		}
		all[k].unit, all[k].norm = Unit(pixels)
	}
	slices.SortStableFunc(all, func(a, b patch) int { return cmp.Compare(b.norm, a.norm) })
	filters := make([]float64, side*side*count)
	for k, p := range all[:count] {
		for i, value := range p.unit {
			filters[i*count+k] = value
		}
	}
	return tensors.FromFlatDataAndDimensions(filters, side, side, 1, count)
}
