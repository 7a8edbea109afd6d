package ops

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// MaxPool returns the maximum of each window×window window of x [N, H, W, C], `stride` apart, with
// −∞ as padding, pad on each side: [N, H', W', C] with H' = (H + 2·pad − window)/stride + 1,
// rounded down. Each window must overlap the image: pad < window.
//
// The gradient of an output goes to one position of its window: at ties, as among the many zeros of
// a sparse code, to the first maximum in reading order.
//
// The fast path replaces GoMLX's MaxPool: its gradient in XLA, a search in each window and a
// scatter on one core, takes longer than a convolution. With BFloat16 it rounds x, and the gradient
// goes to the first that is largest then. The gradient itself stays float32: in bfloat16 XLA takes
// twice as long for it.
func (k Impl) MaxPool(x *Node, window, stride, pad int) *Node {
	if k.Plain {
		padding := [][2]int{{pad, pad}, {pad, pad}}
		return MaxPool(x).Window(window).Strides(stride).PaddingPerDim(padding).Done()
	}
	compared := x
	if k.BFloat16 {
		compared = ConvertDType(x, dtypes.BFloat16)
	}
	p := pooling{window, stride, pad}
	rows, rowsAdjoint := p.maxAlong(compared, 2)
	y, adjoint := p.maxAlong(rows, 1)
	return withGradients(ConvertDType(y, x.DType()), operand{x, func(v *Node) *Node {
		return rowsAdjoint(adjoint(v)) // to the first row with the maximum, then to the first there
	}})
}

// AvgPool is [Impl.MaxPool] with the mean instead of the maximum. The mean runs over the positions
// of the window inside the image, without the padding.
//
// It has one implementation: the gradient of GoMLX's MeanPool fails on the Go backend.
func (k Impl) AvgPool(x *Node, window, stride, pad int) *Node {
	p := pooling{window, stride, pad}
	return p.meanAlong(p.meanAlong(x, 2), 1)
}

// pooling holds the parameters of separable pooling with square windows, one axis after the other.
type pooling struct {
	window, stride, pad int
}

// maxAlong takes the maximum along one axis. It also returns the adjoint, which compares the taps
// with the maximum.
func (p pooling) maxAlong(x *Node, axis int) (y *Node, adjoint func(v *Node) *Node) {
	taps := p.taps(x, Infinity(x.Graph(), x.DType(), -1), axis)
	y = taps[0]
	for _, tap := range taps[1:] {
		y = Max(y, tap)
	}
	return y, func(v *Node) *Node {
		return p.tapsAdjoint(routeToFirstMax(taps, y, v), x.Shape().Dim(axis), axis)
	}
}

// routeToFirstMax returns, for each tap, v where that tap is the first to equal the maximum y, else
// 0.
func routeToFirstMax(taps []*Node, y, v *Node) []*Node {
	last := len(taps) - 1
	zeros := ZerosLike(v)
	shares := make([]*Node, len(taps))
	rest := v
	for i, tap := range taps[:last] {
		isLargest := Equal(tap, y)
		shares[i] = Where(isLargest, rest, zeros)
		rest = Where(isLargest, zeros, rest)
	}
	shares[last] = rest
	return shares
}

// meanAlong takes the mean along one axis.
func (p pooling) meanAlong(x *Node, axis int) *Node {
	g, size := x.Graph(), x.Shape().Dim(axis)
	zero := ScalarZero(g, x.DType())
	dims := slices.Repeat([]int{1}, x.Rank())
	dims[axis] = size
	counts := Sum(p.taps(Ones(g, shapes.Make(x.DType(), dims...)), zero, axis))
	return withGradients(Div(Sum(p.taps(x, zero, axis)), counts), operand{x, func(v *Node) *Node {
		return p.tapsAdjoint(slices.Repeat([]*Node{Div(v, counts)}, p.window), size, axis)
	}})
}

// taps returns, for each position in a window along the axis, the values of x there in all windows,
// with fill as padding.
func (p pooling) taps(x, fill *Node, axis int) []*Node {
	size := x.Shape().Dim(axis)
	count := (size+2*p.pad-p.window)/p.stride + 1
	x = padAxis(x, fill, axis, p.pad, max(0, p.stride*(count-1)+p.window-p.pad-size))
	return windows(x, axis, p.window, p.stride, count)
}

// tapsAdjoint is the adjoint of taps: it sums the shares of each position along an axis of that
// size.
func (p pooling) tapsAdjoint(shares []*Node, size, axis int) *Node {
	zero := ScalarZero(shares[0].Graph(), shares[0].DType())
	// Position stride·q + phase of the padded axis is tap stride·j + phase of window q − j.
	reach := (p.window + p.stride - 1) / p.stride
	phases := make([]*Node, p.stride)
	for phase := range phases {
		var terms []*Node
		for j := range reach {
			if tap := p.stride*j + phase; tap < p.window {
				terms = append(terms, padAxis(shares[tap], zero, axis, j, reach-1-j))
			}
		}
		if terms == nil { // a gap between windows
			terms = []*Node{ZerosLike(phases[0])}
		}
		phases[phase] = Sum(terms)
	}
	dims := slices.Clone(phases[0].Shape().Dimensions)
	dims[axis] *= p.stride
	x := Reshape(Stack(phases, axis+1), dims...)
	x = padAxis(x, zero, axis, 0, max(0, p.pad+size-dims[axis]))
	return SliceAxis(x, axis, AxisRange(p.pad, p.pad+size))
}

// padAxis pads x along an axis with `before` and `after` copies of fill. Unlike GoMLX's Pad it is
// differentiable with respect to x, and so is the adjoint of a pool: unrolled inference
// differentiates it.
func padAxis(x, fill *Node, axis, before, after int) *Node {
	padding := make([]PadAxis, x.Rank())
	padding[axis] = PadAxis{Start: before, End: after}
	size := x.Shape().Dim(axis)
	return withGradients(Pad(x, fill, padding...), operand{x, func(v *Node) *Node {
		return SliceAxis(v, axis, AxisRange(before, before+size))
	}})
}

// Sum adds up the terms, the first ones first.
func Sum(terms []*Node) *Node {
	total := terms[0]
	for _, term := range terms[1:] {
		total = Add(total, term)
	}
	return total
}
