package ops

import (
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
)

// likePlain requires an operation's value, and its gradients in all inputs, to be those of the plain one.
func likePlain(t *testing.T, on compute.Backend, operation func(k Kernels, inputs []*Node) *Node, inputs ...*tensors.Tensor) {
	compute := func(k Kernels) []*tensors.Tensor {
		args := make([]any, len(inputs))
		for i, input := range inputs {
			args[i] = input
		}
		return MustExecOnceN(on, func(inputs []*Node) []*Node {
			y := operation(k, inputs)
			// A gradient that differs from entry to entry.
			v := AddScalar(Cos(ConvertDType(Iota(y.Graph(), y.Shape(), y.Rank()-1), y.DType())), 0.1)
			return append(Gradient(ReduceAllSum(Mul(Square(y), v)), inputs...), y)
		}, args...)
	}
	want, got := compute(Kernels{Plain: true}), compute(Kernels{})
	require.Equal(t, len(want), len(got))
	for i := range want {
		require.Equal(t, want[i].Shape().Dimensions, got[i].Shape().Dimensions)
		requireClose(t, values(want[i]), values(got[i]), 1e-5, "output %d", i)
	}
}

// Split, Inner and Scale are like the plain ones, on images and on hypotheses, in odd sizes too.
func TestSplitLikePlain(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		for _, shape := range [][]int{{2, 5, 3, 6}, {2, 3, 4, 5, 8}, {2, 3, 3, 7}} {
			x, y := random(shape...), random(shape...)
			likePlain(t, on, func(k Kernels, in []*Node) *Node { return k.Split(in[0]) }, x)
			for batchAxes := 1; batchAxes <= len(shape)-3; batchAxes++ {
				inner := func(k Kernels, in []*Node) *Node { return k.Inner(in[0], in[len(in)-1], batchAxes) }
				likePlain(t, on, inner, x, y)
				likePlain(t, on, inner, x)
				factor := random(shape[:batchAxes]...)
				likePlain(t, on, func(k Kernels, in []*Node) *Node { return k.Scale(in[0], in[1]) }, x, factor)
			}
		}
	})
}
