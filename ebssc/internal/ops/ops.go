// Package ops holds the graph operations that dominate a training step: convolutions, their adjoints, offsets, pooling and
// dropout. Most have two implementations with the same values and gradients: the plain one, GoMLX's own operations, and a
// fast one with custom gradients for the shapes where measurements show it faster with XLA on a CPU. On other devices use
// the plain one.
//
// Images are channels last, [N, H, W, C]; kernels are [kh, kw, C, K]. Operations run while a graph is built and panic on
// wrong shapes, as GoMLX's do.
package ops

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Kernels selects the implementation of the operations. The zero value selects the fast ones.
type Kernels struct {
	// Plain disables all fast paths.
	Plain bool
	// BFloat16 computes CrossCorrelate, Transpose and their gradients in bfloat16: operands and results are rounded to it. It
	// excludes the fast paths for float32.
	BFloat16 bool
}

// AddOffset adds the offset b [K] to each position of u [N, H, W, K]. It has only the plain implementation: a matrix product
// with ones for the gradient of b takes as long as XLA's sum.
func (k Kernels) AddOffset(u, b *Node) *Node {
	return Add(u, ExpandLeftToRank(b, u.Rank()))
}
