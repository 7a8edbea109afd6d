package ops

import (
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"
)

// In chunks of any size a function has the same values and gradients as at once, with respect to shared and split nodes, also
// if two gradients are taken.
func TestRemat(t *testing.T) {
	// Entry i along the axis is a function of first[:, i], second[:, i] and the weights.
	f := func(shared, parts []*Node) *Node {
		return Mul(Sin(Einsum("bic,ck->bik", parts[0], shared[0])), Square(parts[1]))
	}
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		weights, first, second := random(4, 3), random(2, 7, 4), random(1, 7, 3)
		compute := func(size int) [][]float32 {
			outputs := MustExecOnceN(on, func(in []*Node) []*Node {
				var y *Node
				if size == 0 {
					y = f(in[:1], in[1:])
				} else {
					y = Remat(in[:1], in[1:], 1, size, f)
				}
				v := AddScalar(Cos(ConvertDType(Iota(y.Graph(), y.Shape(), 1), y.DType())), 0.1)
				outputs := append(Gradient(ReduceAllSum(Mul(Square(y), v)), in...), y)
				return append(outputs, Gradient(ReduceAllSum(y), in...)...)
			}, weights, first, second)
			all := make([][]float32, len(outputs))
			for i, output := range outputs {
				all[i] = values(output)
			}
			return all
		}
		want := compute(0)
		require.Len(t, want, 7)
		for _, size := range []int{1, 2, 3, 4, 7} {
			for i, got := range compute(size) {
				requireClose(t, want[i], got, 1e-6, "chunks of %d, output %d", size, i)
			}
		}
	})
}
