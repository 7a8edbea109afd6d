package ops

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// operand is an input of an operation with custom gradients.
type operand struct {
	value *Node
	// gradient returns the gradient with respect to value, for the gradient v with respect to the
	// result. It is called only if that gradient is needed.
	gradient func(v *Node) *Node
}

// withGradients returns result, which must be computed from the operands' values, with custom
// gradients: those of the operands replace GoMLX's.
//
// GoMLX has custom gradients only for identities of the same shape. So an identity around the
// result stores the arriving gradient v, and an identity on each operand ignores its arriving
// gradient and returns gradient(v) instead. GoMLX needs a path from the result to the operands: a
// scalar that is added to the result, `Where(false, first elements of the operands, 0)`, links
// them. XLA constant-folds it.
func withGradients(result *Node, operands ...operand) *Node {
	g := result.Graph()
	var v *Node
	link := ScalarZero(g, result.DType())
	for _, o := range operands {
		hooked := IdentityWithCustomGradient(o.value, func(_, _ *Node) *Node { return o.gradient(v) })
		link = Add(link, firstElement(hooked))
	}
	link = Where(Const(g, false), link, ScalarZero(g, result.DType()))
	return IdentityWithCustomGradient(Add(StopGradient(result), link), func(_, arrived *Node) *Node {
		v = arrived
		return arrived
	})
}

func firstElement(x *Node) *Node { return Reshape(Slice(x, AxisElem(0).Spacer())) }
