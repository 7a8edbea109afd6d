package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"

	"ebsscgo/ebssc/internal/ops"
)

// Shrink is the asymmetric shrinkage of Eq. (asym_shrink), shrink_(β⁺,β⁻)(v), as the sum of two
// ReLUs: ReLU(v − β⁺) − ReLU(−v − β⁻). It is a proper function where −β⁻ ≤ β⁺.
//
// The thresholds broadcast to v; the result has v's shape. Soft shrinkage is Shrink(v, β, β).
func Shrink(v, betaPlus, betaMinus *Node) *Node {
	return Sub(rectify(Sub(v, betaPlus)), rectify(Sub(Neg(v), betaMinus)))
}

// SplitDrive returns the drive of a split code, [u, −u] [..., 2K], for u [..., K].
func SplitDrive(u *Node) *Node {
	return ops.Join(u, Neg(u))
}

// ShrinkSplit is the asymmetric shrinkage as a split code, both halves as magnitudes, [z⁺, z⁻]: z⁺
// = ReLU(u − ŵ⁺) and z⁻ = ReLU(−u − ŵ⁻). Shrink is z⁺ − z⁻.
//
// It takes the drive of the split code, SplitDrive(u) [..., 2K], and thresholds [ŵ⁺, ŵ⁻] that
// broadcast to it.
func ShrinkSplit(drive, thresholds *Node) *Node {
	return rectify(excess(drive, thresholds))
}

// excess is [u − ŵ⁺, −u − ŵ⁻], of which ShrinkSplit takes the positive part.
func excess(drive, thresholds *Node) *Node {
	return ops.EachHalf(drive, thresholds, Sub)
}

// Signed is z⁺ − z⁻ [..., K] of a split code [z⁺, z⁻] [..., 2K].
func Signed(split *Node) *Node {
	plus, minus := ops.Halves(split)
	return Sub(plus, minus)
}

// rectify is ReLU with gradient 0 at 0. (Max has gradient 1 there, which would train dead codes.)
func rectify(v *Node) *Node {
	return ops.EachHalf(v, v, ops.WherePositive)
}
