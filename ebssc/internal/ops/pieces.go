package ops

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// InPieces returns f(shared, parts) of all pieces, concatenated along the axis: `parts` are pieces of the nodes in split, of
// `size` entries along the same axis, the last one of what is left. f must treat the entries along it alike and by themselves.
//
// It is gradient checkpointing: what a piece computes on the way is forgotten, and computed anew for its gradients. A piece
// begins only after the one before it, so that at no time more than one takes memory. GoMLX's own checkpoints rely on
// optimization barriers, which XLA drops on a CPU before it removes what is computed twice.
func InPieces(shared, split []*Node, axis, size int, f func(shared, parts []*Node) *Node) *Node {
	pieces := piecesOf(split, axis, size)
	results := make([]*Node, len(pieces))
	for i, parts := range pieces {
		inputs := shared
		if i > 0 {
			inputs = after(results[i-1], shared)
		}
		results[i] = f(inputs, parts)
	}
	var all []*Node // the gradients of shared and split for `of`, once they are asked for
	var of *Node
	gradient := func(which int) func(v *Node) *Node {
		return func(v *Node) *Node {
			if of != v {
				all, of = gradientsInPieces(shared, pieces, axis, v, f), v
			}
			return all[which]
		}
	}
	var operands []operand
	for which, node := range slices.Concat(shared, split) {
		operands = append(operands, operand{node, gradient(which)})
	}
	return withGradients(Concatenate(results, axis), operands...)
}

// piecesOf cuts nodes along an axis: the parts of each piece.
func piecesOf(nodes []*Node, axis, size int) (pieces [][]*Node) {
	total := nodes[0].Shape().Dim(axis)
	for start := 0; start < total; start += size {
		var parts []*Node
		for _, node := range nodes {
			parts = append(parts, SliceAxis(node, axis, AxisRange(start, min(total, start+size))))
		}
		pieces = append(pieces, parts)
	}
	return pieces
}

// after returns the nodes, but such that nothing which is computed from them is computed before `earlier`, nor taken for the
// same as what was.
func after(earlier *Node, nodes []*Node) []*Node {
	_, one := unfoldable(earlier)
	var later []*Node
	for _, node := range nodes {
		later = append(later, Div(node, one))
	}
	return later
}

// gradientsInPieces returns the gradients of shared and then of what was split, for the gradient v of all results.
func gradientsInPieces(shared []*Node, pieces [][]*Node, axis int, v *Node, f func(shared, parts []*Node) *Node) []*Node {
	sums := make([]*Node, len(shared))
	ofParts := make([][]*Node, len(pieces[0]))
	start, earlier := 0, v
	for _, parts := range pieces {
		inputs := after(earlier, slices.Concat(shared, parts))
		for j, input := range inputs {
			inputs[j] = Identity(StopGradient(input)) // gradients do not reach a stopped node itself
		}
		result := f(inputs[:len(shared)], inputs[len(shared):])
		end := start + result.Shape().Dim(axis)
		vOfPiece := SliceAxis(v, axis, AxisRange(start, end))
		gradients := Gradient(ReduceAllSum(Mul(result, vOfPiece)), inputs...)
		for j := range sums {
			if sums[j] == nil {
				sums[j] = gradients[j]
			} else {
				sums[j] = Add(sums[j], gradients[j])
			}
		}
		for j := range ofParts {
			ofParts[j] = append(ofParts[j], gradients[len(shared)+j])
		}
		start, earlier = end, gradients[0]
	}
	for _, gradients := range ofParts {
		sums = append(sums, Concatenate(gradients, axis))
	}
	return sums
}
