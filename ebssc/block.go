package ebssc

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"ebsscgo/ebssc/internal/ops"
)

// Thresholds selects the thresholds ŵ of a block's shrinkage.
type Thresholds string

const (
	// Zero thresholds: each half of the drive is rectified only.
	Zero Thresholds = "zero"
	// Beta is one learned threshold β ≥ 0 for the whole block and both signs (spherical sparse
	// coding).
	Beta Thresholds = "beta"
	// ClassSpecific thresholds ŵ_y ≥ 0 are learned for each hypothesis, position, filter and sign: [Y,
	// H, W, 2K].
	ClassSpecific Thresholds = "class"
)

// Coding switches the parts of a block on and off.
type Coding struct {
	// Thresholds of the shrinkage.
	Thresholds Thresholds
	// Rectified blocks drop the negative half, ŵ⁻ = ∞: K channels instead of 2K.
	Rectified bool
	// Spherical blocks project the code onto the unit sphere.
	Spherical bool
}

// The codings of the paper's rows.
var (
	ReLU    = Coding{Thresholds: Zero, Rectified: true}
	CReLU   = Coding{Thresholds: Zero}
	CReLUSN = Coding{Thresholds: Zero, Spherical: true}
	SSC     = Coding{Thresholds: Beta, Spherical: true}
	EBC     = Coding{Thresholds: ClassSpecific, Spherical: true}
)

// Block is one coding block: cross-correlation with a dictionary, offset, asymmetric shrinkage,
// projection onto the sphere.
type Block struct {
	// Filters is K, the number of filters in the dictionary.
	Filters int
	// Kernel is the filters' side in pixels, Stride their spacing, Padding the zeros added on each
	// side.
	Kernel, Stride, Padding int
	// Coding switches the block's parts.
	Coding Coding
}

// signal is an image, a code, a drive, or what is carried up or down between them: values [N, H, W,
// C] or, one for each class hypothesis, [N, Y, H, W, C].
type signal struct {
	values *Node
	// normalised says that the values are a code of unit norm, or pooled from one.
	normalised bool
}

// batchAxes counts the leading axes that index signals: images and, if the signal depends on them,
// hypotheses.
func (s signal) batchAxes() int { return s.values.Rank() - 3 }

// apply applies an operation on images to the values, with the hypothesis axis, if there is one,
// folded into the batch axis.
func (s signal) apply(operation func(x *Node) *Node) *Node {
	if s.batchAxes() == 1 {
		return operation(s.values)
	}
	dims := s.values.Shape().Dimensions
	y := operation(Reshape(s.values, append([]int{dims[0] * dims[1]}, dims[2:]...)...))
	return Reshape(y, append([]int{dims[0], dims[1]}, y.Shape().Dimensions[1:]...)...)
}

// aligned returns values, with an axis of size 1 if others depend on the hypothesis and these do
// not.
func aligned(values, others *Node) *Node {
	if others.Rank() > values.Rank() {
		return ops.EachHalf(values, values, func(half, _ *Node) *Node { return InsertAxes(half, 1) })
	}
	return values
}

// rms returns the root mean square of a code's entries, the scale of offsets and thresholds in the
// block above: 1/√n in a code of n entries and unit norm; 1 in one that is not normalised.
func (s signal) rms() float64 {
	if !s.normalised {
		return 1
	}
	n := 1
	for _, dim := range s.values.Shape().Dimensions[s.batchAxes():] {
		n *= dim
	}
	return 1 / math.Sqrt(float64(n))
}
