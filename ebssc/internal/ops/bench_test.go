package ops

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
)

// The convolutions of the CReLU network on CIFAR-10, at a quarter of the paper's width with large batches and at the
// full width with small ones. Like all timings on a machine that does other things too, compare minima:
// go test ./ebssc/internal/ops -run '^$' -bench . -count 5
var networkConvolutions = []convolution{
	{128, 32, 32, 3, 24, 3, 1, 1},
	{128, 32, 32, 48, 24, 3, 1, 1},
	{128, 16, 16, 48, 48, 3, 1, 1},
	{128, 16, 16, 96, 48, 3, 1, 1},
	{128, 8, 8, 96, 48, 3, 1, 1},
	{128, 8, 8, 96, 48, 1, 1, 1},
	{32, 32, 32, 192, 96, 3, 1, 1},
	{32, 16, 16, 384, 192, 3, 1, 1},
}

// benchmark times an operation with both kernels, together with its gradients in the first `variables` inputs. The first call compiles it.
func benchmark(b *testing.B, name string, variables int, operation func(k Kernels, in []*Node) *Node, inputs ...any) {
	for _, k := range []Kernels{{Plain: true}, {}} {
		b.Run(fmt.Sprintf("%s/plain=%v", name, k.Plain), func(b *testing.B) {
			exec := MustNewExec(on(b, "cpu"), func(in []*Node) []*Node {
				y := operation(k, in)
				v := in[len(in)-1] // the gradient with respect to y
				return append(Gradient(ReduceAllSum(Mul(y, v)), in[:variables]...), y)
			})
			step := func() {
				for _, result := range exec.MustExec(inputs...) {
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

// BenchmarkStepConvolution times a convolution with its gradients; that in x is left out for images, as in a network.
func BenchmarkStepConvolution(b *testing.B) {
	for _, c := range networkConvolutions {
		variables := 2
		if c.channels == 3 {
			variables = 1
		}
		benchmark(b, c.String(), variables, func(k Kernels, in []*Node) *Node { return k.CrossCorrelate(in[1], in[0], c.stride, c.pad) },
			random(c.kernel, c.kernel, c.channels, c.filters), random(c.batch, c.height, c.width, c.channels),
			random(c.batch, c.outputs(c.height), c.outputs(c.width), c.filters))
	}
}

// BenchmarkStepMaxPool times the networks' poolings with their gradients.
func BenchmarkStepMaxPool(b *testing.B) {
	for _, dims := range [][]int{{128, 32, 32, 48}, {128, 16, 16, 96}, {32, 32, 32, 192}, {32, 16, 16, 384}} {
		benchmark(b, fmt.Sprint(dims), 1, func(k Kernels, in []*Node) *Node { return k.MaxPool(in[0], 3, 2, 1) },
			random(dims...), random(dims[0], dims[1]/2, dims[2]/2, dims[3]))
	}
}

// BenchmarkStepSphere times the split of a drive and its projection onto the sphere, with gradients.
func BenchmarkStepSphere(b *testing.B) {
	for _, dims := range [][]int{{128, 32, 32, 24}, {32, 32, 32, 96}, {1280, 10, 10, 48}} {
		benchmark(b, fmt.Sprint(dims), 1, func(k Kernels, in []*Node) *Node {
			z := k.Split(in[0])
			z = Where(IsPositive(z), z, ZerosLike(z))
			return k.Scale(z, Inverse(Sqrt(k.Inner(z, z, 1))))
		}, random(dims...), random(dims[0], dims[1], dims[2], 2*dims[3]))
	}
}
