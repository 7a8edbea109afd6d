package ops

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/internal/device"
	"ebsscgo/internal/device/devicetest"
)

// opened holds each backend, started once for all tests.
var opened = map[string]func() (compute.Backend, error){
	"cpu": sync.OnceValues(func() (compute.Backend, error) { return open("cpu") }),
	"go":  sync.OnceValues(func() (compute.Backend, error) { return open("go") }),
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Benchmarks measure what users run, and the plugin for bfloat16 does not know the flags.
	if flag.Lookup("test.bench").Value.String() == "" && os.Getenv(dumpVar) == "" {
		devicetest.CompileFast()
	}
	os.Exit(m.Run())
}

func open(name string) (compute.Backend, error) {
	started, _, err := device.Open(context.Background(), name)
	return started, err
}

// on returns the backend of that name.
func on(t testing.TB, name string) compute.Backend {
	started, err := opened[name]()
	require.NoError(t, err)
	return started
}

// eachBackend runs test on XLA's CPU and on the Go backend.
func eachBackend(t *testing.T, test func(t *testing.T, on compute.Backend)) {
	for name := range opened {
		t.Run(name, func(t *testing.T) { test(t, on(t, name)) })
	}
}

// random returns a tensor of normally distributed numbers, the same ones for the same dimensions.
func random(dims ...int) *tensors.Tensor {
	rng := rand.New(rand.NewPCG(1, uint64(len(dims))))
	size := 1
	for _, dim := range dims {
		size *= dim
	}
	values := make([]float32, size)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	return tensors.FromFlatDataAndDimensions(values, dims...)
}

// values returns the float32 numbers of t, flat.
func values(t *tensors.Tensor) []float32 {
	return tensors.MustCopyFlatData[float32](t)
}

// requireClose requires that no number differs by more than tolerance times the largest of those
// wanted.
func requireClose(t require.TestingT, want, got []float32, tolerance float64, about ...any) {
	require.Len(t, got, len(want), about...)
	var largest, difference float64
	for i := range want {
		largest = max(largest, float64(want[i]), -float64(want[i]))
		difference = max(difference, float64(want[i]-got[i]), float64(got[i]-want[i]))
	}
	require.LessOrEqual(t, difference, tolerance*largest, about...)
	require.NotZero(t, largest, "all zeros: this compares nothing")
}

// convolution describes a cross-correlation of a test.
type convolution struct {
	batch, height, width, channels, filters, kernel, stride, pad int
}

func (c convolution) String() string {
	return fmt.Sprintf("%dx%dx%dx%d to %d, kernel %d, stride %d, pad %d",
		c.batch, c.height, c.width, c.channels, c.filters, c.kernel, c.stride, c.pad)
}

// outputs returns the size of the result along an axis.
func (c convolution) outputs(size int) int {
	return (size+2*c.pad-c.kernel)/c.stride + 1
}

// operands are random x and d, and a random gradient v with respect to d ⋆ x.
func (c convolution) operands() (x, d, v *tensors.Tensor) {
	return random(c.batch, c.height, c.width, c.channels),
		random(c.kernel, c.kernel, c.channels, c.filters),
		random(c.batch, c.outputs(c.height), c.outputs(c.width), c.filters)
}

// run computes d ⋆ x and its gradients in x and d for a random gradient with respect to it.
func (c convolution) run(on compute.Backend, k Impl) (y, dx, dd []float32) {
	x, d, v := c.operands()
	results := MustExecOnceN(on, func(x, d, v *Node) []*Node {
		y := k.CrossCorrelate(x, d, c.stride, c.pad)
		return append(Gradient(ReduceAllSum(Mul(y, v)), x, d), y)
	}, x, d, v)
	return values(results[2]), values(results[0]), values(results[1])
}

// requireLikePlain requires the fast cross-correlation to agree with GoMLX's own.
func (c convolution) requireLikePlain(t require.TestingT, on compute.Backend) {
	// F(4×4, 3×3) loses about a digit and a half: 1e-5 of the largest output, a few times that where
	// sums are long.
	const tolerance = 5e-5
	wantY, wantDX, wantDD := c.run(on, Impl{Plain: true})
	y, dx, dd := c.run(on, Impl{})
	requireClose(t, wantY, y, tolerance, "value of %s", c)
	requireClose(t, wantDX, dx, tolerance, "gradient in x of %s", c)
	requireClose(t, wantDD, dd, tolerance, "gradient in d of %s", c)
}

func TestCrossCorrelateLikePlain(t *testing.T) {
	cases := []convolution{
		{2, 8, 8, 8, 32, 3, 1, 1},
		{3, 7, 10, 17, 16, 3, 1, 1}, // neither side a multiple of the tile
		{1, 1, 1, 16, 16, 3, 1, 1},  // one position
		{2, 5, 3, 256, 1, 3, 1, 1},  // one filter
		{2, 8, 8, 8, 5, 3, 1, 1},    // too few numbers in the kernel for the transforms
		{2, 6, 8, 3, 8, 3, 1, 1},    // too few channels: columns in pairs
		{1, 1, 2, 1, 1, 3, 1, 1},    // one pair
		{2, 8, 8, 8, 12, 1, 1, 0},   // 1×1
		{2, 8, 8, 8, 12, 1, 1, 1},   // conv7: 1×1 with a border of zeros
		{3, 5, 5, 4, 6, 5, 2, 0},    // one window
		{3, 6, 9, 4, 6, 3, 3, 0},    // windows side by side
		{2, 12, 8, 3, 4, 5, 2, 0},   // the gradient in x on cells
		{2, 12, 9, 3, 4, 4, 3, 0},   // the kernel covers parts of cells
		{2, 6, 6, 3, 4, 2, 3, 0},    // it is smaller than a cell
	}
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		for _, c := range cases {
			t.Run(c.String(), func(t *testing.T) { c.requireLikePlain(t, on) })
		}
	})
}

func TestWinogradAnySize(t *testing.T) {
	started := on(t, "go")
	rapid.Check(t, func(t *rapid.T) {
		filters := rapid.IntRange(1, 32).Draw(t, "filters")
		fewest := (256 + filters - 1) / filters // channels with which the transforms compute
		c := convolution{
			batch: rapid.IntRange(1, 3).Draw(t, "batch"), height: rapid.IntRange(1, 10).Draw(t, "height"),
			width:    rapid.IntRange(1, 10).Draw(t, "width"),
			channels: rapid.IntRange(fewest, fewest+2).Draw(t, "channels"),
			filters:  filters, kernel: 3, stride: 1, pad: 1,
		}
		c.requireLikePlain(t, started)
	})
}

// In bfloat16 kernels are computed, too, that are too small for float32's transforms. Without AMX
// large ones have transforms in bfloat16, which round more. Those of images stay float32.
func TestBFloat16OfEachSize(t *testing.T) {
	for c, tolerance := range map[convolution]struct{ value, gradient float64 }{
		{2, 8, 8, 8, 5, 3, 1, 1}:   {0.01, 0.01},
		{2, 7, 8, 96, 48, 3, 1, 1}: {0.01, 0.03},
		{2, 7, 8, 96, 96, 3, 1, 1}: {0.03, 0.03},
		{2, 8, 8, 8, 12, 1, 1, 1}:  {0.01, 0.01},
	} {
		cpu := on(t, "cpu")
		y, dx, dd := c.run(cpu, Impl{})
		halfY, halfDX, halfDD := c.run(cpu, Impl{BFloat16: true})
		requireClose(t, y, halfY, tolerance.value, "value of %s", c)
		requireClose(t, dx, halfDX, tolerance.value, "gradient in x of %s", c)
		requireClose(t, dd, halfDD, tolerance.gradient, "gradient in d of %s", c)
		require.NotEqual(t, y, halfY, c)
	}
	for _, c := range []convolution{{2, 8, 8, 3, 12, 3, 1, 1}, {2, 8, 8, 3, 12, 1, 1, 0}} {
		y, _, _ := c.run(on(t, "cpu"), Impl{})
		ofImages, _, _ := c.run(on(t, "cpu"), Impl{BFloat16: true})
		require.Equal(t, y, ofImages, c)
	}
}

// A convolution in several chunks of the batch is like the plain one. Chunks divide the batch,
// whatever its size.
func TestChunks(t *testing.T) {
	convolution{16, 32, 32, 128, 8, 3, 1, 1}.requireLikePlain(t, on(t, "cpu"))
	MustExecOnce(on(t, "cpu"), func(x *Node) *Node {
		g := x.Graph()
		require.Equal(t, 4, chunkSize(g, 16, 4*36*64*(128+8), chunkBytes))
		require.Equal(t, 8, chunkSize(g, 8, 10, 100))
		require.Equal(t, 4, chunkSize(g, 8, 20, 100))
		require.Equal(t, 1, chunkSize(g, 7, 20, 100))
		require.Equal(t, 1, chunkSize(g, 8, 1000, 100))
		return x
	}, float32(0))
	MustExecOnce(on(t, "go"), func(x *Node) *Node {
		require.Equal(t, 8, chunkSize(x.Graph(), 8, 20, 100))
		return x
	}, float32(0))
}

// ⟨d ⋆ x, z⟩ = ⟨x, d * z⟩, and the gradients of both sides are those of the one bilinear form.
func TestTransposeIsAdjoint(t *testing.T) {
	for _, kernel := range []int{1, 3, 5} {
		for _, stride := range []int{1, 2} {
			for _, pad := range []int{0, 1, 2} {
				for height := 7; height < 7+stride; height++ { // each remainder of the stride
					convolution{2, height, height + 1, 3, 4, kernel, stride, pad}.requireAdjoint(t, on(t, "go"))
				}
			}
		}
	}
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		for _, c := range []convolution{{2, 7, 10, 16, 17, 3, 1, 1}, {3, 5, 5, 4, 6, 5, 2, 0},
			{3, 6, 9, 4, 6, 3, 3, 0}, {2, 10, 13, 1, 4, 5, 3, 1}, {2, 12, 8, 3, 4, 5, 2, 0},
			// the first three have fast paths
			{2, 7, 8, 3, 4, 3, 2, 1}, {2, 8, 9, 3, 4, 5, 2, 2}, {2, 7, 8, 3, 4, 1, 2, 1}} {
			c.requireAdjoint(t, on)
		}
	})
}

func (c convolution) requireAdjoint(t *testing.T, on compute.Backend) {
	const tolerance = 5e-5
	x, d, z := c.operands()
	results := MustExecOnceN(on, func(x, d, z *Node) []*Node {
		k, plain := Impl{}, Impl{Plain: true}
		y := plain.CrossCorrelate(x, d, c.stride, c.pad)
		back := k.Transpose(z, d, c.stride, c.pad, c.height, c.width)
		there, here := ReduceAllSum(Mul(y, z)), ReduceAllSum(Mul(x, back))
		return append(append([]*Node{there, here, y, back}, Gradient(there, x, d)...),
			Gradient(here, z, d)...)
	}, x, d, z)
	there, here, y, back := values(results[0]), values(results[1]), values(results[2]),
		values(results[3])
	require.InEpsilon(t, there[0], here[0], 1e-4, c)
	requireClose(t, values(results[4]), back, tolerance,
		"%s: the gradient of ⟨d ⋆ x, z⟩ in x is d * z", c)
	requireClose(t, y, values(results[6]), tolerance, "%s: the gradient of ⟨x, d * z⟩ in z is d ⋆ x",
		c)
	requireClose(t, values(results[5]), values(results[7]), tolerance, "%s: gradients in d", c)
}

// Gradients of kernels of even size and of wide paddings, for which GoMLX's are wrong or panic,
// with and without fast paths.
func TestOwnConvolutionGradients(t *testing.T) {
	for _, c := range []convolution{
		{2, 6, 5, 4, 3, 2, 1, 0}, {2, 6, 5, 4, 3, 2, 2, 0}, {2, 7, 5, 4, 3, 2, 2, 1},
		{2, 6, 7, 4, 3, 4, 1, 1}, {2, 8, 8, 4, 3, 4, 2, 1},
		{2, 9, 8, 4, 3, 4, 3, 0}, {2, 5, 5, 4, 3, 2, 1, 2}, {2, 6, 6, 4, 3, 5, 1, 3},
		{2, 6, 6, 4, 3, 5, 2, 4},
		{2, 10, 13, 1, 4, 5, 3, 1}, // the lower block of the unroll study
	} {
		wantDX, wantDD := c.differences(on(t, "go"))
		for _, k := range []Impl{{}, {Plain: true}} {
			_, dx, dd := c.run(on(t, "cpu"), k)
			requireClose(t, wantDX, dx, 1e-3, "gradient in x of %s", c)
			requireClose(t, wantDD, dd, 1e-3, "gradient in d of %s", c)
		}
	}
}

// differences are the gradients of run by differences: the value is linear in x and in d, so any
// step does.
func (c convolution) differences(on compute.Backend) (dx, dd []float32) {
	x, d, v := c.operands()
	value := MustNewExec(on, func(x, d, v *Node) *Node {
		return ReduceAllSum(Mul(Impl{Plain: true}.CrossCorrelate(x, d, c.stride, c.pad), v))
	})
	defer value.Finalize()
	slopes := func(operand *tensors.Tensor,
		at func(unit *tensors.Tensor) *tensors.Tensor) (slopes []float32) {
		for i := range operand.Shape().Size() {
			unit := make([]float32, operand.Shape().Size())
			unit[i] = 1
			moved := at(tensors.FromFlatDataAndDimensions(unit, operand.Shape().Dimensions...))
			slopes = append(slopes, tensors.ToScalar[float32](moved))
		}
		return slopes
	}
	return slopes(x, func(unit *tensors.Tensor) *tensors.Tensor {
			return value.MustCall1(unit, d, v)
		}),
		slopes(d, func(unit *tensors.Tensor) *tensors.Tensor { return value.MustCall1(x, unit, v) })
}

// Custom gradients replace those of the operation's graph, add to other gradients of an operand,
// and are computed only if needed.
func TestWithGradients(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		asked := map[string]int{}
		results := MustExecOnceN(on, func(a, b *Node) []*Node {
			y := withGradients(Mul(a, b),
				operand{a, func(v *Node) *Node { asked["a"]++; return MulScalar(v, 10) }},
				operand{b, func(v *Node) *Node { asked["b"]++; return MulScalar(v, 100) }})
			return append(Gradient(ReduceAllSum(Add(MulScalar(y, 3), a)), a), y)
		}, []float32{1, 2}, []float32{5, 7})
		require.Equal(t, []float32{31, 31}, values(results[0]))
		require.Equal(t, []float32{5, 14}, values(results[1]))
		require.Equal(t, map[string]int{"a": 1}, asked)
	})
}

// likePlain requires an operation's value, and its gradients in all inputs, to be those of the
// plain one.
func likePlain(t *testing.T, on compute.Backend, operation func(k Impl, inputs []*Node) *Node,
	inputs ...any) {
	compute := func(k Impl) []*tensors.Tensor {
		return MustExecOnceN(on, func(inputs []*Node) []*Node {
			y := operation(k, inputs)
			// A gradient that differs from entry to entry.
			v := AddScalar(Cos(ConvertDType(Iota(y.Graph(), y.Shape(), y.Rank()-1), y.DType())), 0.1)
			return append(Gradient(ReduceAllSum(Mul(Square(y), v)), inputs...), y)
		}, inputs...)
	}
	want, got := compute(Impl{Plain: true}), compute(Impl{})
	require.Equal(t, len(want), len(got))
	for i := range want {
		require.Equal(t, want[i].Shape().Dimensions, got[i].Shape().Dimensions)
		requireClose(t, values(want[i]), values(got[i]), 1e-5, "output %d", i)
	}
}

// Join of u and −u, and Inner, are like the plain ones, on images and on hypotheses, in odd sizes
// too.
func TestSplitLikePlain(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		for _, shape := range [][]int{{2, 5, 3, 6}, {2, 3, 4, 5, 8}, {2, 3, 3, 7}} {
			x, y := random(shape...), random(shape...)
			likePlain(t, on, func(k Impl, in []*Node) *Node {
				if k.Plain {
					return Concatenate([]*Node{in[0], Neg(in[0])}, -1)
				}
				return Join(in[0], Neg(in[0]))
			}, x)
			for batchAxes := 1; batchAxes <= len(shape)-3; batchAxes++ {
				inner := func(k Impl, in []*Node) *Node { return k.Inner(in[0], in[len(in)-1], batchAxes) }
				likePlain(t, on, inner, x, y)
				likePlain(t, on, inner, x)
			}
		}
	})
}

// RectifyInner and RectifyScale, of joined codes and of others, are what their names say, with
// their gradients: ReLU first, then the inner product or the scale.
func TestRectify(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		for _, shape := range [][]int{{2, 5, 3, 6}, {2, 3, 4, 5, 8}} {
			half := slices.Clone(shape)
			half[len(half)-1] /= 2
			x, other, y := random(half...), random(half...), random(shape...)
			for batchAxes := 1; batchAxes <= len(shape)-3; batchAxes++ {
				factor := random(shape[:batchAxes]...)
				// The fast ones see two halves, the plain ones one code.
				whole := func(k Impl, in []*Node) *Node {
					if !k.Plain {
						return Join(in[0], in[1])
					}
					return Concatenate(in[:2], -1)
				}
				likePlain(t, on, func(k Impl, in []*Node) *Node {
					a := whole(k, in)
					if k.Plain {
						return k.Inner(WherePositive(a, a), in[2], batchAxes)
					}
					return RectifyInner(a, in[2], batchAxes)
				}, x, other, y)
				for _, code := range []func(k Impl, in []*Node) *Node{
					whole, func(_ Impl, in []*Node) *Node { return Concatenate(in[:2], -1) },
				} {
					likePlain(t, on, func(k Impl, in []*Node) *Node {
						a := code(k, in)
						if k.Plain {
							return Scale(WherePositive(a, a), in[2])
						}
						return RectifyScale(a, in[2])
					}, x, other, factor)
				}
			}
		}
	})
}

// Halves gives back what Join has joined, and the halves of all else, whatever was put together.
func TestHalves(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		results := MustExecOnceN(on, func(a, b *Node) []*Node {
			plus, minus := Halves(Join(a, b))
			require.Equal(t, []*Node{a, b}, []*Node{plus, minus})
			all := []*Node{Join(a, b), Concatenate([]*Node{a, b}, -1)}
			for _, other := range []*Node{
				Concatenate([]*Node{a, b}, 0), Reshape(Stack([]*Node{a, b}, 0), 2, 4),
				Reshape(Stack([]*Node{a, b}, 2), 2, 4), Reshape(Concatenate([]*Node{a, b}, 0), 2, 4),
			} {
				first, second := Halves(other)
				all = append(all, other, Concatenate([]*Node{first, second}, -1))
			}
			return all
		}, [][]float32{{1, 2}, {3, 4}}, [][]float32{{5, 6}, {7, 8}})
		for i := 0; i < len(results); i += 2 {
			require.Equal(t, values(results[i]), values(results[i+1]))
		}
	})
}
