package ebssc

import (
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

// batchAxes counts the leading axes that index signals: images and, if the signal depends on them,
// hypotheses. A signal is an image, a code, a drive, or what is carried up or down between them:
// [N, H, W, C] or, one for each class hypothesis, [N, Y, H, W, C].
func batchAxes(signal *Node) int { return signal.Rank() - 3 }

// onImages applies an operation on images to a signal, with the hypothesis axis, if there is one,
// folded into the batch axis.
func onImages(signal *Node, operation func(x *Node) *Node) *Node {
	if batchAxes(signal) == 1 {
		return operation(signal)
	}
	dims := signal.Shape().Dimensions
	y := operation(Reshape(signal, append([]int{dims[0] * dims[1]}, dims[2:]...)...))
	return Reshape(y, append([]int{dims[0], dims[1]}, y.Shape().Dimensions[1:]...)...)
}

// aligned returns a signal, with an axis of size 1 if another depends on the hypothesis and this
// one does not.
func aligned(signal, other *Node) *Node {
	if other.Rank() > signal.Rank() {
		return ops.EachHalf(signal, signal, func(half, _ *Node) *Node { return InsertAxes(half, 1) })
	}
	return signal
}
