package ops

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// fitsColumnPairs reports whether [columnPairs] computes d ⋆ x: 3×3 kernels, stride 1 and padding 1
// on an even number of columns, with fewer than the eight channels of [Impl.fits3x3].
func fitsColumnPairs(x, d *Node, stride, pad int) bool {
	dims := d.Shape().Dimensions
	return dims[0] == 3 && dims[1] == 3 && dims[2] < 8 && stride == 1 && pad == 1 &&
		x.Shape().Dim(2)%2 == 0
}

// columnPairs computes CrossCorrelate(x, d, 1, 1) for images by im2col on pairs of columns: one
// matrix product of the 3×4 inputs of each pair of neighbouring output columns with a matrix that
// holds the kernel twice, one column apart. The gradient with respect to d is the product's. A
// third of the matrix is zeros, but plain im2col would copy each input nine times instead of six.
//
// XLA's convolution takes four to five times as long for 3 channels and 24 filters ([128, 32, 32,
// 3]), and a quarter longer for 96 (BenchmarkStepConvolution).
func columnPairs(x, d *Node) *Node {
	dims := x.Shape().Dimensions
	batch, height, width, channels, filters := dims[0], dims[1], dims[2], dims[3], d.Shape().Dim(3)
	inputs := pairInputs(x)
	y := Reshape(Dot(inputs, pairKernel(d)).Product(), batch, height, width, filters)
	return withGradients(y,
		operand{x, func(v *Node) *Node { return transpose(v, d, 1, 1, height, width) }},
		operand{d, func(v *Node) *Node {
			pairs := DotGeneral(inputs, []int{0}, nil, Reshape(v, -1, 2*filters), []int{0}, nil)
			return pairKernelAdjoint(Reshape(pairs, 3, 4, channels, 2, filters))
		}})
}

// pairInputs returns the 3×4 inputs of each pair of columns of x [N, H, W, C]: [N·H·W/2, 12·C].
func pairInputs(x *Node) *Node {
	dims := x.Shape().Dimensions
	batch, height, pairs, channels := dims[0], dims[1], dims[2]/2, dims[3]
	zero := ScalarZero(x.Graph(), x.DType())
	x = Pad(x, zero, PadAxis{}, PadAxis{Start: 1, End: 1}, PadAxis{Start: 1, End: 1}, PadAxis{})
	x = Reshape(x, batch, height+2, pairs+1, 2*channels)
	x = Concatenate([]*Node{SliceAxis(x, 2, AxisRange(0, pairs)), SliceAxis(x, 2, AxisRange(1))}, -1)
	return Reshape(Concatenate(windows(x, 1, 3, 1, height), -1), batch*height*pairs, 12*channels)
}

// pairKernel returns the matrix [12·C, 2·K] that maps the inputs of a pair of columns to its
// outputs, for d [3, 3, C, K].
func pairKernel(d *Node) *Node {
	zero := ScalarZero(d.Graph(), d.DType())
	both := Stack([]*Node{padAxis(d, zero, 1, 0, 1), padAxis(d, zero, 1, 1, 0)}, 3) // [3, 4, C, 2, K]
	dims := both.Shape().Dimensions
	return Reshape(both, 12*dims[2], 2*dims[4])
}

// pairKernelAdjoint is the adjoint of pairKernel: [3, 4, C, 2, K] to [3, 3, C, K].
func pairKernelAdjoint(both *Node) *Node {
	columns := Unstack(both, 3)
	return Add(SliceAxis(columns[0], 1, AxisRange(0, 3)), SliceAxis(columns[1], 1, AxisRange(1, 4)))
}
