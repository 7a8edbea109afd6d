package ops

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

// loopOverBatch runs step on one chunk of the batch after the other, in a loop inside the graph:
// start counts from 0 to batch by chunk, which must divide batch. Each step maps the state to the
// next one; the last state is returned. A step may use only its arguments, no other nodes from
// outside the loop.
//
// The temporaries of a step fit into the cache and reuse the same memory. That makes the loop
// faster than one pass over the batch: memory traffic and page faults of big temporaries cost more
// than their arithmetic.
//
// step must not use operations with GoMLX's cached scalars (ScalarZero, MulScalar and the like):
// GoMLX would reuse the loop's scalar in the graph outside.
func loopOverBatch(batch, chunk int, inputs []*Node, state *Node,
	step func(start *Node, inputs []*Node, state *Node) *Node) *Node {
	g := state.Graph()
	if chunk == batch {
		return step(Const(g, int32(0)), inputs, state)
	}
	all := append([]*Node{Const(g, int32(0)), state}, inputs...)
	parameters := func(g *Graph) (start, state *Node, inputs []*Node) {
		nodes := make([]*Node, len(all))
		for i, node := range all {
			nodes[i] = Parameter(g, fmt.Sprint("loop", i), node.Shape())
		}
		return nodes[0], nodes[1], nodes[2:]
	}
	condition := NewClosure(g, func(g *Graph) []*Node {
		start, _, _ := parameters(g)
		return []*Node{LessThan(start, Const(g, int32(batch)))}
	})
	body := NewClosure(g, func(g *Graph) []*Node {
		start, state, inputs := parameters(g)
		return append([]*Node{Add(start, Const(g, int32(chunk))), step(start, inputs, state)}, inputs...)
	})
	return While(condition, body, all...)[1]
}

// batchChunk returns `size` images of x [N, ...] from image `start` on.
func batchChunk(x, start *Node, size int) *Node {
	dims := slices.Clone(x.Shape().Dimensions)
	if size == dims[0] {
		return x
	}
	dims[0] = size
	return DynamicSlice(x, batchOffset(start, x.Rank()), dims)
}

// updateBatch returns x [N, ...] with chunk in place of the images from `start` on.
func updateBatch(x, chunk, start *Node) *Node {
	if chunk.Shape().Equal(x.Shape()) {
		return chunk
	}
	return DynamicUpdateSlice(x, chunk, batchOffset(start, x.Rank()))
}

// batchOffset returns the start indices of image `start` in a tensor of that rank.
func batchOffset(start *Node, rank int) []*Node {
	return append([]*Node{start}, slices.Repeat([]*Node{Const(start.Graph(), int32(0))}, rank-1)...)
}

// chunkSize returns the largest divisor of batch for which a chunk takes at most `budget` bytes, at
// least 1. It returns batch if the backend cannot update slices, as GoMLX's Go backend.
func chunkSize(g *Graph, batch, bytesPerImage, budget int) int {
	if !g.Backend().Capabilities().Operations[compute.OpTypeDynamicUpdateSlice] {
		return batch
	}
	for size := min(batch, budget/bytesPerImage); size > 1; size-- {
		if batch%size == 0 {
			return size
		}
	}
	return 1
}
