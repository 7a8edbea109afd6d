package ops

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
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
	{32, 32, 32, 3, 96, 3, 1, 1},
	{32, 32, 32, 192, 96, 3, 1, 1},
	{32, 16, 16, 192, 192, 3, 1, 1},
	{32, 16, 16, 384, 192, 3, 1, 1},
	{32, 8, 8, 384, 192, 3, 1, 1},
	{32, 8, 8, 384, 192, 1, 1, 1},
}

// implementations are the two that the benchmarks compare.
var implementations = []struct {
	name string
	k    Kernels
}{{"plain", Kernels{Plain: true}}, {"fast", Kernels{}}}

// BenchmarkStepConvolution times a convolution with its gradients; that in x is left out for images, as in a network.
func BenchmarkStepConvolution(b *testing.B) {
	for _, c := range networkConvolutions {
		for _, implementation := range implementations {
			b.Run(fmt.Sprintf("%s/%s", c, implementation.name), func(b *testing.B) {
				exec := MustNewExec(on(b, "cpu"), func(x, d, v *Node) []*Node {
					y := implementation.k.CrossCorrelate(x, d, c.stride, c.pad)
					of := []*Node{d, x}
					if c.channels == 3 {
						of = of[:1]
					}
					return append(Gradient(ReduceAllSum(Mul(y, v)), of...), y)
				})
				run(b, exec, random(c.batch, c.height, c.width, c.channels), random(c.kernel, c.kernel, c.channels, c.filters),
					random(c.batch, c.outputs(c.height), c.outputs(c.width), c.filters))
			})
		}
	}
}

// BenchmarkStepMaxPool times the networks' poolings with their gradients.
func BenchmarkStepMaxPool(b *testing.B) {
	for _, dims := range [][]int{{128, 32, 32, 48}, {128, 16, 16, 96}, {32, 32, 32, 192}, {32, 16, 16, 384}} {
		for _, implementation := range implementations {
			b.Run(fmt.Sprintf("%v/%s", dims, implementation.name), func(b *testing.B) {
				exec := MustNewExec(on(b, "cpu"), func(x, v *Node) []*Node {
					y := implementation.k.MaxPool(x, 3, 2, 1)
					return append(Gradient(ReduceAllSum(Mul(y, v)), x), y)
				})
				run(b, exec, random(dims...), random(dims[0], dims[1]/2, dims[2]/2, dims[3]))
			})
		}
	}
}

// BenchmarkStepSphere times the split of a drive and its projection onto the sphere, with gradients.
func BenchmarkStepSphere(b *testing.B) {
	for _, dims := range [][]int{{128, 32, 32, 24}, {32, 32, 32, 96}, {1280, 10, 10, 48}} {
		for _, implementation := range implementations {
			b.Run(fmt.Sprintf("%v/%s", dims, implementation.name), func(b *testing.B) {
				exec := MustNewExec(on(b, "cpu"), func(u, v *Node) []*Node {
					k := implementation.k
					z := k.Split(u)
					z = Where(IsPositive(z), z, ZerosLike(z))
					z = k.Scale(z, Inverse(Sqrt(k.Inner(z, z, 1))))
					return append(Gradient(ReduceAllSum(Mul(z, v)), u), z)
				})
				run(b, exec, random(dims...), random(dims[0], dims[1], dims[2], 2*dims[3]))
			})
		}
	}
}

// BenchmarkDropout times the dropout of the largest code at a quarter of the width.
func BenchmarkDropout(b *testing.B) {
	run(b, MustNewExec(on(b, "cpu"), func(x, key *Node) []*Node { return []*Node{Dropout(x, key, 0.3)} }),
		random(128, 32, 32, 48), tensors.FromValue([]uint32{1, 2}))
}

// run times exec on device; the first call compiles it.
func run(b *testing.B, exec *Exec, args ...any) {
	step := func() {
		for _, result := range exec.MustExec(args...) {
			result.MustFinalizeAll()
		}
	}
	step()
	for b.Loop() {
		step()
	}
}
