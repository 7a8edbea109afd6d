package ebssc

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"ebsscgo/ebssc/internal/ops"
)

// Thresholds says which thresholds ŵ a block shrinks its drive with.
type Thresholds string

const (
	// Zero thresholds: the halves of the drive are rectified and nothing else.
	Zero Thresholds = "zero"
	// Beta is one learned threshold β ≥ 0 for the whole block and both signs (spherical sparse coding).
	Beta Thresholds = "beta"
	// BetaFilter is one learned threshold β_k ≥ 0 for each filter and both signs [K].
	BetaFilter Thresholds = "beta-filter"
	// ClassSpecific thresholds ŵ_y ≥ 0, one for each hypothesis, position, filter and sign: [Y, H, W, 2K].
	ClassSpecific Thresholds = "class"
)

// Coding says which parts of a block are on.
type Coding struct {
	// Thresholds of the shrinkage.
	Thresholds Thresholds
	// Rectified blocks drop the negative half, ŵ⁻ = ∞: K channels instead of 2K.
	Rectified bool
	// Spherical blocks project the code onto the unit sphere.
	Spherical bool
	// Local blocks project it at each position by itself, each onto a unit sphere of its own. Only spherical ones can.
	Local bool `json:",omitempty"`
	// Signed blocks hand z⁺ − z⁻ up, K channels, in place of both halves. Only split codes can.
	Signed bool `json:",omitempty"`
}

// The codings of the paper's rows.
var (
	ReLU    = Coding{Thresholds: Zero, Rectified: true}
	CReLU   = Coding{Thresholds: Zero}
	CReLUSN = Coding{Thresholds: Zero, Spherical: true}
	SSC     = Coding{Thresholds: Beta, Spherical: true}
	EBC     = Coding{Thresholds: ClassSpecific, Spherical: true}
)

// Block is one coding block: cross-correlation with a dictionary, offset, asymmetric shrinkage, projection onto the sphere.
type Block struct {
	// Filters is K, the dictionary's size.
	Filters int
	// Kernel is the filters' side in pixels, Stride their spacing, Padding the zeros added on each side.
	Kernel, Stride, Padding int
	// Coding says which parts are on.
	Coding Coding
}

// code is what a block or pool hands to the next: values [N, H, W, C] or, for each class hypothesis, [N, Y, H, W, C].
type code struct {
	values *Node
	// classes is Y where the code depends on the hypothesis, else 0.
	classes int
	// unit is the size of one entry, to which offsets and thresholds above are proportioned: 1/√n in a code of n
	// entries and unit norm, 1 in a code that was not normalised.
	unit float64
	// local says that it was normalised at each position by itself.
	local bool
}

// batchAxes is how many leading axes tell codes apart.
func (c code) batchAxes() int {
	if c.classes > 0 {
		return 2
	}
	return 1
}

// sphereAxes is how many leading axes tell apart what has unit norm: codes, or their positions.
func (c code) sphereAxes() int {
	if c.local {
		return c.batchAxes() + 2
	}
	return c.batchAxes()
}

// flat merges images and hypotheses into one batch axis, as convolutions want it.
func (c code) flat() *Node {
	if c.classes == 0 {
		return c.values
	}
	dims := c.values.Shape().Dimensions
	return Reshape(c.values, append([]int{dims[0] * dims[1]}, dims[2:]...)...)
}

// unflat gives values computed from flat their hypothesis axis back.
func (c code) unflat(values *Node) *Node {
	if c.classes == 0 {
		return values
	}
	dims := values.Shape().Dimensions
	return Reshape(values, append([]int{dims[0] / c.classes, c.classes}, dims[1:]...)...)
}

// hypotheses returns values with a hypothesis axis, of size 1 where the code does not depend on the hypothesis.
func (c code) hypotheses() *Node {
	if c.classes > 0 {
		return c.values
	}
	return InsertAxes(c.values, 1)
}

// entryUnit is 1/√n for codes of n entries and unit norm.
func (c code) entryUnit() float64 {
	n := 1
	for _, dim := range c.values.Shape().Dimensions[c.sphereAxes():] {
		n *= dim
	}
	return 1 / math.Sqrt(float64(n))
}

// Drive is u = d ⋆ x + b: x [N, H, W, C] gives [N, H', W', K]. Outside x are zeros, so the drive there is b.
func (b Block) Drive(kernels ops.Kernels, x, dictionary, offset *Node) *Node {
	return kernels.AddOffset(kernels.CrossCorrelate(x, dictionary, b.Stride, b.Padding), offset)
}
