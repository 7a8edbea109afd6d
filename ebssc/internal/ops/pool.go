package ops

import (
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// MaxPool returns the largest value of each window×window window of x [N, H, W, C], `stride` apart, with pad positions
// of −∞ on each side: [N, H', W', C] with H' = (H + 2·pad − window)/stride + 1, rounded down. Each window must reach
// into the image: pad < window.
//
// The gradient of an output goes to one position of its window. Where several hold the largest value, as the many zeros
// of a sparse code do, that is the first of them in reading order.
//
// The fast path replaces GoMLX's MaxPool: XLA's gradient of that, a search in each window and a scatter on one core,
// takes longer than a convolution.
func (k Kernels) MaxPool(x *Node, window, stride, pad int) *Node {
	if k.Plain {
		return MaxPool(x).Window(window).Strides(stride).PaddingPerDim([][2]int{{pad, pad}, {pad, pad}}).Done()
	}
	// The first of the largest in a row, then the first row that has it.
	p := pooling{window, stride, pad}
	return p.largestAlong(p.largestAlong(x, 2), 1)
}

// AvgPool is [Kernels.MaxPool] with the mean in place of the largest value. The mean runs over the positions of the
// window that lie in the image: the padding does not count.
//
// There is but one implementation: the gradient of GoMLX's MeanPool fails on the Go backend.
func (k Kernels) AvgPool(x *Node, window, stride, pad int) *Node {
	p := pooling{window, stride, pad}
	return p.meanAlong(p.meanAlong(x, 2), 1)
}

// pooling holds the parameters of a pooling with square windows, which goes along one axis after the other.
type pooling struct {
	window, stride, pad int
}

// largestAlong pools x along one axis, with a gradient from comparisons.
func (p pooling) largestAlong(x *Node, axis int) *Node {
	lowest := Infinity(x.Graph(), x.DType(), -1)
	places := p.places(x, lowest, axis)
	y := places[0]
	for _, place := range places[1:] {
		y = Max(y, place)
	}
	return withGradients(y, operand{x, func(v *Node) *Node {
		return p.collect(firstLargest(places, y, v), x.Shape().Dim(axis), axis)
	}})
}

// firstLargest returns, for each place of the windows, v where that place is the first that equals y, else 0.
func firstLargest(places []*Node, y, v *Node) []*Node {
	last := len(places) - 1
	zeros := ZerosLike(v)
	shares := make([]*Node, len(places))
	rest := v
	for i, place := range places[:last] {
		isLargest := Equal(place, y)
		shares[i] = Where(isLargest, rest, zeros)
		rest = Where(isLargest, zeros, rest)
	}
	shares[last] = rest
	return shares
}

// meanAlong pools x along one axis.
func (p pooling) meanAlong(x *Node, axis int) *Node {
	g, size := x.Graph(), x.Shape().Dim(axis)
	zero := ScalarZero(g, x.DType())
	ones := make([]int, x.Rank())
	for i := range ones {
		ones[i] = 1
	}
	ones[axis] = size
	counts := sum(p.places(Ones(g, shapes.Make(x.DType(), ones...)), zero, axis))
	return withGradients(Div(sum(p.places(x, zero, axis)), counts), operand{x, func(v *Node) *Node {
		return p.collect(slices.Repeat([]*Node{Div(v, counts)}, p.window), size, axis)
	}})
}

// places returns the values of x at each place of the windows along the axis, with fill beyond the border.
func (p pooling) places(x, fill *Node, axis int) []*Node {
	size := x.Shape().Dim(axis)
	count := (size+2*p.pad-p.window)/p.stride + 1
	last := p.stride * (count - 1)
	x = padAxis(x, fill, axis, p.pad, max(0, last+p.window-p.pad-size))
	places := make([]*Node, p.window)
	for i := range places {
		places[i] = SliceAxis(x, axis, AxisRange(i, i+last+1).Stride(p.stride))
	}
	return places
}

// collect is the adjoint of places: it adds up the shares of each position of an axis of that size.
func (p pooling) collect(shares []*Node, size, axis int) *Node {
	zero := ScalarZero(shares[0].Graph(), shares[0].DType())
	// Position stride·q + phase, counted from the padding's first, is at place stride·j + phase of window q − j.
	reach := (p.window + p.stride - 1) / p.stride
	phases := make([]*Node, p.stride)
	for phase := range phases {
		var terms []*Node
		for j := range reach {
			if place := p.stride*j + phase; place < p.window {
				terms = append(terms, padAxis(shares[place], zero, axis, j, reach-1-j))
			}
		}
		if terms == nil { // between the windows
			terms = []*Node{ZerosLike(phases[0])}
		}
		phases[phase] = sum(terms)
	}
	dims := slices.Clone(phases[0].Shape().Dimensions)
	dims[axis] *= p.stride
	x := Reshape(Stack(phases, axis+1), dims...)
	x = padAxis(x, zero, axis, 0, max(0, p.pad+size-dims[axis]))
	return SliceAxis(x, axis, AxisRange(p.pad, p.pad+size))
}

// padAxis puts `before` and `after` copies of fill around x along an axis. Unlike GoMLX's Pad it is differentiable in x, which
// makes the adjoint of a pool so: unrolled inference takes its gradient.
func padAxis(x, fill *Node, axis, before, after int) *Node {
	padding := make([]PadAxis, x.Rank())
	padding[axis] = PadAxis{Start: before, End: after}
	size := x.Shape().Dim(axis)
	return withGradients(Pad(x, fill, padding...), operand{x, func(v *Node) *Node {
		return SliceAxis(v, axis, AxisRange(before, before+size))
	}})
}

// sum adds up the terms.
func sum(terms []*Node) *Node {
	total := terms[0]
	for _, term := range terms[1:] {
		total = Add(total, term)
	}
	return total
}
