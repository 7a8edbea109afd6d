package ops

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// Join returns the split code [plus, minus] [..., 2K] of its halves [..., K].
//
// XLA computes operations on a split code four times as fast where each half is computed by itself
// and joined last: in vectors, not entry by entry. So operations on codes work on [Halves], which
// sees through Join. It joins along an axis of its own: XLA does not fuse a concatenation along the
// last one with what computes its operands.
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
	stack, dims := x.Inputs()[0], slices.Clone(x.Shape().Dimensions)
	last := len(dims) - 1
	dims[last] /= 2
	for _, part := range stack.Inputs() {
		if part.Type() != NodeTypeReshape ||
			!slices.Equal(part.Inputs()[0].Shape().Dimensions, dims) ||
			!slices.Equal(part.Shape().Dimensions, slices.Insert(slices.Clone(dims), last, 1)) {
			return nil, nil, false
		}
	}
	if !slices.Equal(stack.Shape().Dimensions, slices.Insert(dims, last, 2)) {
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

// EachHalf applies an operation on entries to a and b, joined if Join made a: then to both halves
// of each. b is a scalar or as a is, up to axes of size 1.
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
// With a selection on top it is one pass over a and b. XLA would store the operands of a sum of
// products, ReLU(a) among them.
func RectifyInner(a, b *Node, batchAxes int) *Node {
	terms := WherePositive(a, Mul(a, b))
	if plus, minus, ok := joined(a); ok {
		bPlus, bMinus := Halves(b)
		second := WherePositive(minus, Mul(minus, bMinus))
		terms = Where(IsPositive(plus), Add(Mul(plus, bPlus), second), second)
	}
	return ReduceSum(terms, codeAxes(a, batchAxes)...)
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
func codeAxes(x *Node, batchAxes int) (axes []int) {
	for axis := batchAxes; axis < x.Rank(); axis++ {
		axes = append(axes, axis)
	}
	return axes
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
