package ops

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// bfloat16Value computes d ⋆ x, [N, H, W, K], for 3×3 kernels in bfloat16: by oneDNN, in a process
// that asks for it (package device).
func bfloat16Value(x, d *Node) *Node {
	half := convolve(ConvertDType(x, dtypes.BFloat16), ConvertDType(d, dtypes.BFloat16), 1, 1)
	return ConvertDType(half, dtypes.Float32)
}

// bfloat16KernelGradient returns the gradient [3, 3, C, K] of d ⋆ x with respect to d, for the
// gradient v with respect to d ⋆ x.
//
// Each row of the kernel is one matrix product in bfloat16: of the image, moved by a row, and three
// copies of v, each moved by a column. As a convolution, whose kernel is as large as the image,
// oneDNN would take a thousand times as long. It adds in float32 and rounds the sums once; a result
// in float32 would take five to seven times as long.
func bfloat16KernelGradient(x, v *Node) *Node {
	height, width, channels := x.Shape().Dim(1), x.Shape().Dim(2), x.Shape().Dim(3)
	filters := v.Shape().Dim(3)
	zero := ScalarZero(x.Graph(), dtypes.BFloat16)
	x = padAxis(ConvertDType(x, dtypes.BFloat16), zero, 1, 1, 1)
	v = padAxis(ConvertDType(v, dtypes.BFloat16), zero, 2, 1, 1)
	columns, rows := make([]*Node, 3), make([]*Node, 3)
	for j := range columns {
		columns[j] = SliceAxis(v, 2, AxisRange(2-j, 2-j+width))
	}
	v = Reshape(Concatenate(columns, -1), -1, 3*filters)
	for i := range rows {
		row := Reshape(SliceAxis(x, 1, AxisRange(i, i+height)), -1, channels)
		rows[i] = Reshape(dot(dtypes.BFloat16, row, 0, v, 0), channels, 3, filters)
	}
	return ConvertDType(TransposeAllAxes(Stack(rows, 0), 0, 2, 1, 3), dtypes.Float32)
}
