// Package ops holds the graph operations that a training step spends its time in: convolutions, their adjoints,
// offsets and pooling. Each has two implementations with the same values and gradients: the plain one, GoMLX's own
// operations, and a fast one with its own gradients for the shapes where that was measured to pay with XLA on a CPU. On
// other devices take the plain one.
//
// Images are channels last, [N, H, W, C]; kernels are [kh, kw, C, K]. All operations panic on shapes that do not fit,
// as GoMLX's do: they are called while a graph is built.
package ops

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Kernels chooses the implementation of the operations. Its zero value takes the fast one wherever it pays;
// Plain switches all fast paths off.
type Kernels struct {
	Plain bool
	// BFloat16 has CrossCorrelate, Transpose and their gradients computed from operands rounded to bfloat16, and their results
	// rounded so before they are converted back. Fast paths that are for float32 alone are not taken then.
	BFloat16 bool
}

// AddOffset adds the offset b [K] to each position of u [N, H, W, K]. There is but the plain implementation: a matrix
// product with ones for the gradient of b takes as long as XLA's sum.
func (k Kernels) AddOffset(u, b *Node) *Node {
	return Add(u, ExpandLeftToRank(b, u.Rank()))
}
