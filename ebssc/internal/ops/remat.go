package ops

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// Remat applies f in chunks and rematerialises their activations in the backward pass (gradient checkpointing). It returns
// f(shared, chunk) for all chunks, concatenated along the axis: a chunk holds `size` entries of each node in split along that
// axis, the last one the remainder. f must compute each entry along the axis independently of the others.
//
// Each chunk depends on the one before, in both passes, so only one chunk's activations are in memory at a time. GoMLX's own
// checkpoints rely on optimization barriers, which XLA removes on a CPU before it eliminates common subexpressions.
func Remat(shared, split []*Node, axis, size int, f func(shared, chunk []*Node) *Node) *Node {
	chunks := splitChunks(split, axis, size)
	results := make([]*Node, len(chunks))
	for i, chunk := range chunks {
		inputs := shared
		if i > 0 {
			inputs = sequence(results[i-1], shared)
		}
		results[i] = f(inputs, chunk)
	}
	// All operands' gradients come from one backward pass, which is built at the first request for each v.
	var gradients []*Node
	var builtFor *Node
	gradientOf := func(which int) func(v *Node) *Node {
		return func(v *Node) *Node {
			if builtFor != v {
				gradients, builtFor = rematGradients(shared, chunks, axis, v, f), v
			}
			return gradients[which]
		}
	}
	var operands []operand
	for which, node := range slices.Concat(shared, split) {
		operands = append(operands, operand{node, gradientOf(which)})
	}
	return withGradients(Concatenate(results, axis), operands...)
}

// splitChunks splits nodes along an axis into chunks of `size` entries.
func splitChunks(nodes []*Node, axis, size int) (chunks [][]*Node) {
	total := nodes[0].Shape().Dim(axis)
	for start := 0; start < total; start += size {
		var chunk []*Node
		for _, node := range nodes {
			chunk = append(chunk, SliceAxis(node, axis, AxisRange(start, min(total, start+size))))
		}
		chunks = append(chunks, chunk)
	}
	return chunks
}

// sequence returns the nodes with a data dependency on `earlier`: XLA computes `earlier` before anything from them, and cannot
// merge the results with equal expressions computed before.
func sequence(earlier *Node, nodes []*Node) []*Node {
	_, one := opaqueScalars(earlier)
	var later []*Node
	for _, node := range nodes {
		later = append(later, Div(node, one))
	}
	return later
}

// rematGradients recomputes f chunk by chunk and returns the gradients with respect to the shared nodes and then the split
// ones, for the gradient v with respect to Remat's result.
func rematGradients(shared []*Node, chunks [][]*Node, axis int, v *Node, f func(shared, chunk []*Node) *Node) []*Node {
	sums := make([]*Node, len(shared))
	ofSplit := make([][]*Node, len(chunks[0]))
	start, earlier := 0, v
	for _, chunk := range chunks {
		inputs := sequence(earlier, slices.Concat(shared, chunk))
		for j, input := range inputs {
			inputs[j] = Identity(StopGradient(input)) // a stopped node itself gets no gradient
		}
		result := f(inputs[:len(shared)], inputs[len(shared):])
		end := start + result.Shape().Dim(axis)
		vOfChunk := SliceAxis(v, axis, AxisRange(start, end))
		gradients := Gradient(ReduceAllSum(Mul(result, vOfChunk)), inputs...)
		for j := range sums {
			if sums[j] == nil {
				sums[j] = gradients[j]
			} else {
				sums[j] = Add(sums[j], gradients[j])
			}
		}
		for j := range ofSplit {
			ofSplit[j] = append(ofSplit[j], gradients[len(shared)+j])
		}
		start, earlier = end, gradients[0]
	}
	for _, gradients := range ofSplit {
		sums = append(sums, Concatenate(gradients, axis))
	}
	return sums
}
