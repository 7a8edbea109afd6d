package ops

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// operand is an input of an operation that brings its own gradients.
type operand struct {
	value *Node
	// gradient returns the gradient with respect to value for the gradient v with respect to the result. It is called
	// only where that gradient is needed.
	gradient func(v *Node) *Node
}

// withGradients returns result, which must have been computed from the operands' values, with the operands' own
// gradients in place of those that GoMLX would derive from result's graph.
//
// GoMLX has custom gradients only for identities, and those must keep their shape. So an identity around the result
// keeps the gradient v that arrives there, and an identity on each operand ignores what arrives and returns
// gradient(v) instead. What links them, so that GoMLX finds a path from one to the other, is a scalar that is added to
// the result: `Where(false, first elements of the operands, 0)`. XLA folds it away with all that belongs to it.
func withGradients(result *Node, operands ...operand) *Node {
	g := result.Graph()
	var v *Node
	link := ScalarZero(g, result.DType())
	for _, o := range operands {
		tapped := IdentityWithCustomGradient(o.value, func(_, _ *Node) *Node { return o.gradient(v) })
		link = Add(link, firstElement(tapped))
	}
	link = Where(Const(g, false), link, ScalarZero(g, result.DType()))
	return IdentityWithCustomGradient(Add(StopGradient(result), link), func(_, arrived *Node) *Node {
		v = arrived
		return arrived
	})
}

// firstElement returns the first element of x as a scalar.
func firstElement(x *Node) *Node {
	first := make([]SliceAxisSpec, x.Rank())
	for axis := range first {
		first[axis] = AxisElem(0)
	}
	return Reshape(Slice(x, first...))
}
