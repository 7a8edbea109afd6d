package ops

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

// overBatch runs step on one piece of the batch after the other, in a loop inside the graph: start counts up from 0 to
// batch by piece, which divides it. The state is handed from step to step; the last one's is returned. A step sees the
// nodes that it is given, inputs among them, and none other from outside.
//
// What a step computes on the way fits into the cache and lives in the same memory in each step, which is why a loop
// is faster than the whole batch at once: big temporaries cost more in memory traffic and page faults than their arithmetic.
//
// step must not use operations that take GoMLX's cached scalars (ScalarZero, MulScalar and the like): GoMLX would hand
// the loop's scalar to the graph around it.
func overBatch(batch, piece int, inputs []*Node, state *Node, step func(start *Node, inputs []*Node, state *Node) *Node) *Node {
	g := state.Graph()
	if piece == batch {
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
		return append([]*Node{Add(start, Const(g, int32(piece))), step(start, inputs, state)}, inputs...)
	})
	return While(condition, body, all...)[1]
}

// pieceOf returns the part of x [N, ...] that begins at image `start` and holds `size` images.
func pieceOf(x, start *Node, size int) *Node {
	dims := slices.Clone(x.Shape().Dimensions)
	if size == dims[0] {
		return x
	}
	dims[0] = size
	return DynamicSlice(x, batchOffset(start, x.Rank()), dims)
}

// putPiece returns x [N, ...] with the images from `start` on replaced by those of piece.
func putPiece(x, piece, start *Node) *Node {
	if piece.Shape().Equal(x.Shape()) {
		return piece
	}
	return DynamicUpdateSlice(x, piece, batchOffset(start, x.Rank()))
}

// batchOffset returns the position of image `start` in a tensor of that rank.
func batchOffset(start *Node, rank int) []*Node {
	offset := []*Node{start}
	for len(offset) < rank {
		offset = append(offset, Const(start.Graph(), int32(0)))
	}
	return offset
}

// pieceSize returns the largest divisor of batch with which a piece takes at most `budget` bytes, at least 1. It is
// the whole batch where the backend cannot take pieces, as GoMLX's Go backend.
func pieceSize(g *Graph, batch, bytesPerImage, budget int) int {
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
