package ebssc

import . "github.com/gomlx/gomlx/core/graph"

// Normalize projects codes onto the unit sphere, Eq. (ebm_projection): z* = z̃ / ‖z̃‖₂.
//
// The norm runs over all axes but the first `batchAxes` (1 for images, 2 for images and hypotheses). It returns the
// code, shaped as z̃, and the norm, shaped as the batch axes. By Appendix B the norm is the energy of the code.
// z̃ = 0 gives code 0, norm 0 and gradient 0.
func Normalize(shrunk *Node, batchAxes int) (code, norm *Node) {
	var axes []int
	for axis := batchAxes; axis < shrunk.Rank(); axis++ {
		axes = append(axes, axis)
	}
	square := ReduceAndKeep(Square(shrunk), ReduceSum, axes...)
	// The root's gradient is infinite at 0, so 0 never reaches it.
	zero := IsZero(square)
	root := Sqrt(Where(zero, OnesLike(square), square))
	code = Div(shrunk, root)
	norm = Where(zero, ZerosLike(root), root)
	return code, Reshape(norm, shrunk.Shape().Dimensions[:batchAxes]...)
}

// Energy is E'(x, y, z) of Eq. (energy_fn2) for any split code z, not only the optimal one:
// uᵀ(z⁺ − z⁻) − ŵ⁺ᵀz⁺ − ŵ⁻ᵀz⁻, with u = d ⋆ x + b.
//
// drive is SplitDrive(u) and code [z⁺, z⁻], of one shape; thresholds broadcast to it. The result has the batch axes.
func Energy(drive, thresholds, code *Node, batchAxes int) *Node {
	var axes []int
	for axis := batchAxes; axis < code.Rank(); axis++ {
		axes = append(axes, axis)
	}
	return ReduceSum(Mul(Sub(drive, thresholds), code), axes...)
}
