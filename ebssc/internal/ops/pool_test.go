package ops

import (
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pooled is a pooling of a test, with one channel.
type pooled struct {
	batch, height, width int
	window, stride, pad  int
	x                    []float32
}

// windows calls visit for each output with the positions of its window that lie in the image, in
// reading order.
func (p pooled) windows(visit func(output int, positions []int)) {
	rows, columns := (p.height+2*p.pad-p.window)/p.stride+1, (p.width+2*p.pad-p.window)/p.stride+1
	for output := range p.batch * rows * columns {
		image, row, column := output/(rows*columns), output/columns%rows, output%columns
		var positions []int
		for i := row*p.stride - p.pad; i < row*p.stride-p.pad+p.window; i++ {
			for j := column*p.stride - p.pad; j < column*p.stride-p.pad+p.window; j++ {
				if i >= 0 && i < p.height && j >= 0 && j < p.width {
					positions = append(positions, (image*p.height+i)*p.width+j)
				}
			}
		}
		visit(output, positions)
	}
}

// want computes the largest values, and the gradient for the gradient 1, 2, 3, ... with respect to
// them, which goes to the first position in reading order that holds the largest value.
func (p pooled) want() (y, dx []float32) {
	dx = make([]float32, len(p.x))
	p.windows(func(output int, positions []int) {
		first := positions[0]
		for _, position := range positions {
			if p.x[position] > p.x[first] {
				first = position
			}
		}
		y = append(y, p.x[first])
		dx[first] += float32(output + 1)
	})
	return y, dx
}

// got computes the same as want with MaxPool.
func (p pooled) got(on compute.Backend, k Impl) (y, dx []float32) {
	x := tensors.FromFlatDataAndDimensions(p.x, p.batch, p.height, p.width, 1)
	results := MustExecOnceN(on, func(x *Node) []*Node {
		y := k.MaxPool(x, p.window, p.stride, p.pad)
		v := AddScalar(ConvertDType(IotaFull(x.Graph(), y.Shape()), x.DType()), 1)
		return append(Gradient(ReduceAllSum(Mul(y, v)), x), y)
	}, x)
	return values(results[1]), values(results[0])
}

// pooledInput draws a pooling of any size in which ties are common, and each window reaches into
// the image.
func pooledInput(t *rapid.T) pooled {
	p := pooled{
		batch: rapid.IntRange(1, 2).Draw(t, "batch"), window: rapid.IntRange(1, 4).Draw(t, "window"),
		stride: rapid.IntRange(1, 4).Draw(t, "stride"),
	}
	p.pad = rapid.IntRange(0, p.window/2).Draw(t, "pad")
	p.height = rapid.IntRange(p.window, 9).Draw(t, "height")
	p.width = rapid.IntRange(p.window, 9).Draw(t, "width")
	size := p.batch * p.height * p.width
	for _, value := range rapid.SliceOfN(rapid.IntRange(-1, 2), size, size).Draw(t, "x") {
		p.x = append(p.x, float32(value))
	}
	return p
}

func TestMaxPool(t *testing.T) {
	started := on(t, "go")
	rapid.Check(t, func(t *rapid.T) {
		p := pooledInput(t)
		wantY, wantDX := p.want()
		y, dx := p.got(started, Impl{})
		require.Equal(t, wantY, y)
		require.Equal(t, wantDX, dx)
	})
}

// The networks' pooling, with XLA, and against GoMLX's own where there are no ties; and of all
// zeros, as behind a threshold that nothing passes.
func TestMaxPoolLikePlain(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		for _, size := range []int{8, 9} {
			p := pooled{batch: 2, height: size, width: size + 1, window: 3, stride: 2, pad: 1,
				x: values(random(2, size, size+1, 1))}
			y, dx := p.got(on, Impl{})
			plainY, plainDX := p.got(on, Impl{Plain: true})
			require.Equal(t, [][]float32{plainY, plainDX}, [][]float32{y, dx})
			for _, x := range [][]float32{p.x, make([]float32, len(p.x))} {
				p.x = x
				wantY, wantDX := p.want()
				y, dx := p.got(on, Impl{})
				require.Equal(t, [][]float32{wantY, wantDX}, [][]float32{y, dx})
			}
		}
	})
}

// With BFloat16 a pool has the maximum of rounded numbers, and its gradient goes to the first that
// is rounded to it, in float32.
func TestMaxPoolOfRounded(t *testing.T) {
	cpu := on(t, "cpu")
	p := pooled{batch: 600, height: 6, width: 6, window: 3, stride: 2, pad: 1,
		x: values(random(600, 6, 6, 1))}
	y, dx := p.got(cpu, Impl{BFloat16: true})
	p.x = values(MustExecOnce(cpu, func(x *Node) *Node {
		return ConvertDType(ConvertDType(x, dtypes.BFloat16), dtypes.Float32)
	}, tensors.FromValue(p.x)))
	wantY, wantDX := p.want()
	require.Equal(t, [][]float32{wantY, wantDX}, [][]float32{y, dx})
}

// The mean runs over the positions in the image alone: the mean of ones is one, at the border too.
func TestAvgPool(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		p := pooled{batch: 2, height: 7, width: 8, window: 3, stride: 2, pad: 1,
			x: values(random(2, 7, 8, 1))}
		results := MustExecOnceN(on, func(x *Node) []*Node {
			y := Impl{}.AvgPool(x, p.window, p.stride, p.pad)
			return append(Gradient(ReduceAllSum(y), x), y)
		}, tensors.FromFlatDataAndDimensions(p.x, p.batch, p.height, p.width, 1))
		var want []float32
		gradient := make([]float32, len(p.x))
		p.windows(func(_ int, positions []int) {
			var sum float32
			for _, position := range positions {
				sum += p.x[position]
				gradient[position] += 1 / float32(len(positions))
			}
			want = append(want, sum/float32(len(positions)))
		})
		requireClose(t, want, values(results[1]), 1e-6)
		requireClose(t, gradient, values(results[0]), 1e-6)
	})
}
