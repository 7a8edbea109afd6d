package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"

	"ebsscgo/ebssc/internal/ops"
)

// Normalize projects codes onto the unit sphere, Eq. (ebm_projection): z* = z̃ / ‖z̃‖₂.
//
// The norm runs over all axes except the first `batchAxes` (1 for images, 2 for images and
// hypotheses). It returns the code, shaped as z̃, and the norm, shaped as the batch axes. By
// Appendix B the norm is the energy of the code. z̃ = 0 gives code 0 and norm 0; a gradient passes
// through it unchanged, so that it stays finite.
func Normalize(shrunk *Node, batchAxes int) (code, norm *Node) {
	inverse, norm := inverseNorm(implementation(shrunk.Graph()).Inner(shrunk, shrunk, batchAxes))
	return ops.Scale(shrunk, inverse), norm
}

// normalizeRectified is Normalize of rectify(v), which it computes where it needs it: to store the
// code before it is scaled would take longer.
func normalizeRectified(v *Node, batchAxes int) (code, norm *Node) {
	inverse, norm := inverseNorm(ops.RectifyInner(v, v, batchAxes))
	return ops.RectifyScale(v, inverse), norm
}

// inverseNorm returns 1/‖z̃‖₂ and ‖z̃‖₂ for ‖z̃‖₂², or 1 and 0 for 0.
func inverseNorm(square *Node) (inverse, norm *Node) {
	// Sqrt has an infinite gradient at 0: replace 0 before the root.
	zero := IsZero(square)
	root := Sqrt(Where(zero, OnesLike(square), square))
	return Inverse(root), Where(zero, ZerosLike(root), root)
}

// Energy is E'(x, y, z) of Eq. (energy_fn2) for any split code z, optimal or not: uᵀ(z⁺ − z⁻) −
// ŵ⁺ᵀz⁺ − ŵ⁻ᵀz⁻, with u = d ⋆ x + b.
//
// drive is SplitDrive(u) and code [z⁺, z⁻]; drive and thresholds broadcast to the code's shape. The
// result has the batch axes.
func Energy(drive, thresholds, code *Node, batchAxes int) *Node {
	gain := BroadcastToDims(excess(drive, thresholds), code.Shape().Dimensions...)
	return implementation(code.Graph()).Inner(gain, code, batchAxes)
}
