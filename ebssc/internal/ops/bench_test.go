package ops

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
)

// The convolutions of the CReLU network on CIFAR-10, at a quarter of the paper's width with large
// batches and at the full width with small ones. Like all timings on a machine that does other
// things too, compare minima: go test ./ebssc/internal/ops -run '^$' -bench . -count 5
var networkConvolutions = []convolution{
	{128, 32, 32, 3, 24, 3, 1, 1},
	{128, 32, 32, 48, 24, 3, 1, 1},
	{128, 16, 16, 48, 48, 3, 1, 1},
	{128, 16, 16, 96, 48, 3, 1, 1},
	{128, 8, 8, 96, 48, 3, 1, 1},
	{128, 8, 8, 96, 48, 1, 1, 1},
	{32, 32, 32, 3, 96, 3, 1, 1},
	{32, 32, 32, 192, 96, 3, 1, 1},
	{32, 16, 16, 384, 192, 3, 1, 1},
}

// BenchmarkStepConvolution times a convolution with its gradients, by both kernels; that in x is
// left out for images, as in a network. The first call compiles it.
func BenchmarkStepConvolution(b *testing.B) {
	for _, c := range networkConvolutions {
		for _, k := range []Impl{{Plain: true}, {}} {
			b.Run(fmt.Sprintf("%s/plain=%v", c, k.Plain), func(b *testing.B) {
				exec := MustNewExec(on(b, "cpu"), func(x, d, v *Node) []*Node {
					variables := []*Node{d, x}
					if c.channels == 3 {
						variables = variables[:1]
					}
					y := k.CrossCorrelate(x, d, c.stride, c.pad)
					return append(Gradient(ReduceAllSum(Mul(y, v)), variables...), y)
				})
				x, d, v := c.operands()
				step := func() {
					for _, result := range exec.MustExec(x, d, v) {
						result.MustFinalizeAll()
					}
				}
				step()
				for b.Loop() {
					step()
				}
			})
		}
	}
}
