package ops

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// Split returns the drive [u, −u] [..., 2K] of a split code for u [..., K].
//
// The fast path multiplies u by ±1 along a new axis instead of concatenating u and −u: XLA computes
// operations fused with a concatenation entry by entry, with a branch for each, and operations
// fused with a product in vectors.
func (k Impl) Split(u *Node) *Node {
	if k.Plain {
		return Concatenate([]*Node{u, Neg(u)}, -1)
	}
	rank, dims := u.Rank(), u.Shape().Clone().Dimensions
	signs := ConvertDType(Const(u.Graph(), []float32{1, -1}), u.DType())
	both := Mul(InsertAxes(u, rank-1), reshapeAlong(signs, rank-1, rank+1))
	dims[rank-1] *= 2
	return withGradients(Reshape(both, dims...), operand{u, func(v *Node) *Node {
		plus, minus := Halves(v)
		return Sub(plus, minus)
	}})
}

// Inner returns the inner products ⟨a, b⟩ of two nodes of one shape over all axes except the first
// batchAxes; the result has the batch axes.
//
// The fast path adds the products of both halves of the last axis, if its size is even, before it
// sums: XLA reduces a split code entry by entry, and each half in vectors.
func (k Impl) Inner(a, b *Node, batchAxes int) *Node {
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
	return withGradients(inner,
		operand{a, func(v *Node) *Node { return Mul(expandRight(v, a.Rank()), b) }},
		operand{b, func(v *Node) *Node { return Mul(expandRight(v, a.Rank()), a) }})
}

// Scale multiplies x by factor, which has the leading axes of x and broadcasts along the others.
//
// In the fast path the gradient with respect to the factor is [Impl.Inner] instead of XLA's sum.
func (k Impl) Scale(x, factor *Node) *Node {
	expanded := expandRight(factor, x.Rank())
	if k.Plain {
		return Mul(x, expanded)
	}
	return withGradients(Mul(x, expanded),
		operand{x, func(v *Node) *Node { return Mul(v, expanded) }},
		operand{factor, func(v *Node) *Node { return k.Inner(v, x, factor.Rank()) }})
}

// Halves returns both halves of x along its last axis: z⁺ and z⁻ of a split code.
func Halves(x *Node) (first, second *Node) {
	size := x.Shape().Dim(-1) / 2
	return SliceAxis(x, -1, AxisRange(0, size)), SliceAxis(x, -1, AxisRange(size))
}

// reshapeAlong returns a vector as a node of that rank, along an axis.
func reshapeAlong(vector *Node, axis, rank int) *Node {
	dims := slices.Repeat([]int{1}, rank)
	dims[axis] = vector.Shape().Size()
	return Reshape(vector, dims...)
}

// expandRight appends axes of size 1 to v, up to that rank.
func expandRight(v *Node, rank int) *Node {
	return InsertAxes(v, slices.Repeat([]int{-1}, rank-v.Rank())...)
}
