package ops

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// fitsCells reports whether the adjoint of a convolution with a stride is computed on cells, each
// of stride × stride pixels: there its stride is 1. XLA's own way, zeros between the entries of z,
// takes nine times as long ([1000, 12, 12, 16], 16 filters of 5×5, stride 2).
func fitsCells(stride, pad, height, width int) bool {
	return stride > 1 && pad == 0 && height%stride == 0 && width%stride == 0
}

// transposeOnCells is the adjoint of convolve(x, d, stride, 0) with respect to x [N, height, width,
// C].
func transposeOnCells(z, d *Node, stride, height, width int) *Node {
	rows, columns := height/stride, width/stride
	x := transpose(z, kernelOnCells(d, stride), 1, 0, rows, columns)
	return joinTiles(Reshape(x, -1, rows, columns, stride, stride, d.Shape().Dim(2)))
}

// kernelOnCells returns the kernel [⌈kh/s⌉, ⌈kw/s⌉, s·s·C, K] that does to cells of s × s pixels
// what d [kh, kw, C, K] with stride s does to pixels.
func kernelOnCells(d *Node, s int) *Node {
	dims, zero := d.Shape().Dimensions, ScalarZero(d.Graph(), d.DType())
	kh, kw, c, k := (dims[0]+s-1)/s, (dims[1]+s-1)/s, dims[2], dims[3]
	d = padAxis(padAxis(d, zero, 0, 0, kh*s-dims[0]), zero, 1, 0, kw*s-dims[1])
	d = TransposeAllAxes(Reshape(d, kh, s, kw, s, c, k), 0, 2, 1, 3, 4, 5)
	return Reshape(d, kh, kw, s*s*c, k)
}
