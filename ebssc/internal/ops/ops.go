// Package ops holds the graph operations that dominate a training step: convolutions, their
// adjoints, pooling, dropout and split codes. Most have two implementations with the same values
// and gradients: the plain one, GoMLX's own operations, and a fast one with custom gradients for
// the shapes where measurements show it faster with XLA on a CPU. On other devices use the plain
// one.
//
// Images are channels last, [N, H, W, C]; kernels are [kh, kw, C, K]. Operations run while a graph
// is built and panic on wrong shapes, as GoMLX's do.
package ops

// Impl selects the implementation of the operations. The zero value selects the fast ones.
type Impl struct {
	// Plain disables all fast paths.
	Plain bool
	// BFloat16 computes the convolutions of [Impl.fits3x3], and those with 1×1 kernels on eight or
	// more channels, in bfloat16, with their gradients; without AMX those with respect to small 3×3
	// kernels in float32. Max pools compare in bfloat16.
	BFloat16 bool
}
