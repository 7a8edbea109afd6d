package ops

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Split returns the drive [u, −u] [..., 2K] of a split code for u [..., K].
//
// The fast path replaces the concatenation of u and −u by u times ±1 along a new axis: XLA computes what follows a
// concatenation entry by entry, asking each where it comes from, and what follows a product in vectors.
func (k Kernels) Split(u *Node) *Node {
	if k.Plain {
		return Concatenate([]*Node{u, Neg(u)}, -1)
	}
	rank, dims := u.Rank(), u.Shape().Clone().Dimensions
	signs := make([]int, rank+1)
	for axis := range signs {
		signs[axis] = 1
	}
	signs[rank-1] = 2
	both := Mul(InsertAxes(u, rank-1), Reshape(ConvertDType(Const(u.Graph(), []float32{1, -1}), u.DType()), signs...))
	dims[rank-1] *= 2
	return withGradients(Reshape(both, dims...), operand{u, func(v *Node) *Node {
		plus, minus := Halves(v)
		return Sub(plus, minus)
	}})
}

// Inner returns the inner products ⟨a, b⟩ of two nodes of one shape over all axes but the first batchAxes, which the
// result has.
//
// The fast path replaces ReduceSum(Mul(a, b)) by the sum of such products of both halves of the last axis, where its size
// is even: XLA sums up what is computed for both halves of a split code entry by entry, and each half in vectors.
func (k Kernels) Inner(a, b *Node, batchAxes int) *Node {
	var axes []int
	for axis := batchAxes; axis < a.Rank(); axis++ {
		axes = append(axes, axis)
	}
	if k.Plain || a.Shape().Dim(-1)%2 != 0 {
		return ReduceSum(Mul(a, b), axes...)
	}
	aPlus, aMinus := Halves(a)
	bPlus, bMinus := Halves(b)
	inner := ReduceSum(Add(Mul(aPlus, bPlus), Mul(aMinus, bMinus)), axes...)
	spread := func(v *Node) *Node { return inRank(v, a.Rank()) }
	return withGradients(inner,
		operand{a, func(v *Node) *Node { return Mul(spread(v), b) }},
		operand{b, func(v *Node) *Node { return Mul(spread(v), a) }})
}

// Scale returns x times one factor for each entry of its first axes, of which factor has as many.
//
// The fast path's gradient in the factor is [Kernels.Inner] in place of XLA's sum.
func (k Kernels) Scale(x, factor *Node) *Node {
	spread := inRank(factor, x.Rank())
	if k.Plain {
		return Mul(x, spread)
	}
	return withGradients(Mul(x, spread),
		operand{x, func(v *Node) *Node { return Mul(v, spread) }},
		operand{factor, func(v *Node) *Node { return k.Inner(v, x, factor.Rank()) }})
}

// Halves returns both halves of x along its last axis: z⁺ and z⁻ of a split code.
func Halves(x *Node) (first, second *Node) {
	size := x.Shape().Dim(-1) / 2
	return SliceAxis(x, -1, AxisRange(0, size)), SliceAxis(x, -1, AxisRange(size))
}

// inRank gives v further axes of size 1 at the end, up to that rank.
func inRank(v *Node, rank int) *Node {
	for v.Rank() < rank {
		v = InsertAxes(v, -1)
	}
	return v
}
