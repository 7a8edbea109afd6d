package ops

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/xslices"
)

// Join returns the split code [plus, minus] [..., 2K] of its halves [..., K].
//
// XLA computes operations on a split code four times as fast where each half is computed by itself
// and joined last: in vectors, not entry by entry. So operations on codes work on [Halves], which
// sees through Join. Join stacks the halves along an axis of its own: a long concatenation along
// the last one XLA would compute by itself, from stored halves.
func Join(plus, minus *Node) *Node {
	dims := slices.Clone(plus.Shape().Dimensions)
	dims[len(dims)-1] *= 2
	return Reshape(Stack([]*Node{plus, minus}, plus.Rank()-1), dims...)
}

// joined returns what Join has joined to x, and whether it has.
func joined(x *Node) (plus, minus *Node, ok bool) {
	if x.Type() != NodeTypeReshape || x.Inputs()[0].Type() != NodeTypeConcatenate {
		return nil, nil, false
	}
	stack, half := x.Inputs()[0], slices.Clone(x.Shape().Dimensions)
	last := len(half) - 1
	half[last] /= 2
	layer := slices.Insert(slices.Clone(half), last, 1)
	for _, part := range stack.Inputs() {
		if part.Type() != NodeTypeReshape || !slices.Equal(part.Shape().Dimensions, layer) ||
			!slices.Equal(part.Inputs()[0].Shape().Dimensions, half) {
			return nil, nil, false
		}
	}
	if stack.Shape().Dim(last) != 2 { // stacked along another axis
		return nil, nil, false
	}
	return stack.Inputs()[0].Inputs()[0], stack.Inputs()[1].Inputs()[0], true
}

// Halves returns both halves of x along its last axis: z⁺ and z⁻ of a split code.
func Halves(x *Node) (first, second *Node) {
	if plus, minus, ok := joined(x); ok {
		return plus, minus
	}
	size := x.Shape().Dim(-1) / 2
	return SliceAxis(x, -1, AxisRange(0, size)), SliceAxis(x, -1, AxisRange(size))
}

// EachHalf applies an operation on entries to a and b: if [Join] made a, to both halves of each,
// and joins the results. b is a scalar or has a's shape, up to axes of size 1.
func EachHalf(a, b *Node, operation func(a, b *Node) *Node) *Node {
	plus, minus, ok := joined(a)
	if !ok {
		return operation(a, b)
	}
	if b.IsScalar() {
		return Join(operation(plus, b), operation(minus, b))
	}
	bPlus, bMinus := Halves(b)
	return Join(operation(plus, bPlus), operation(minus, bMinus))
}

// WherePositive returns b where a is positive, else 0.
func WherePositive(a, b *Node) *Node { return Where(IsPositive(a), b, ZerosLike(b)) }

// RectifyInner returns the inner products ⟨ReLU(a), b⟩ of two nodes of one shape over all axes
// except the first batchAxes; the result has the batch axes.
//
// A selection comes last before the sum: so XLA computes all terms in one pass. Products that are
// summed it would compute from stored operands, such as ReLU(a).
func RectifyInner(a, b *Node, batchAxes int) *Node {
	axes := codeAxes(a, batchAxes)
	plus, minus, ok := joined(a)
	if !ok {
		return ReduceSum(WherePositive(a, Mul(a, b)), axes...)
	}
	bPlus, bMinus := Halves(b)
	second := WherePositive(minus, Mul(minus, bMinus))
	return ReduceSum(Where(IsPositive(plus), Add(Mul(plus, bPlus), second), second), axes...)
}

// RectifyScale returns ReLU(x)·factor. The factor has the leading axes of x and broadcasts along
// the others.
func RectifyScale(x, factor *Node) *Node {
	expanded := expandRight(factor, x.Rank())
	scale := func(x, v *Node) *Node { return WherePositive(x, Mul(v, expanded)) }
	return withGradients(EachHalf(x, x, scale),
		operand{x, func(v *Node) *Node { return EachHalf(x, v, scale) }},
		operand{factor, func(v *Node) *Node { return RectifyInner(x, v, factor.Rank()) }})
}

// Inner returns the inner products ⟨a, b⟩ of two nodes of one shape over all axes except the first
// batchAxes; the result has the batch axes.
//
// The fast path adds the products of both halves of the last axis, if its size is even, before it
// sums: XLA reduces a split code entry by entry, and each half in vectors.
func (k Impl) Inner(a, b *Node, batchAxes int) *Node {
	axes := codeAxes(a, batchAxes)
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
func Scale(x, factor *Node) *Node { return Mul(x, expandRight(factor, x.Rank())) }

// codeAxes returns the axes of x behind the first batchAxes.
func codeAxes(x *Node, batchAxes int) []int { return xslices.Iota(batchAxes, x.Rank()-batchAxes) }

// expandRight appends axes of size 1 to v, up to that rank.
func expandRight(v *Node, rank int) *Node {
	return InsertAxes(v, slices.Repeat([]int{-1}, rank-v.Rank())...)
}
