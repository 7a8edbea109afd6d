package ops

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// CrossCorrelate returns d ⋆ x, what deep-learning libraries call a convolution, for x [N, H, W, C] and d [kh, kw, C, K]
// with the same stride along both spatial axes and pad zeros on each side: [N, H', W', K] with
// H' = (H + 2·pad − kh)/stride + 1, rounded down. It is differentiable in both.
func (k Kernels) CrossCorrelate(x, d *Node, stride, pad int) *Node {
	if k.BFloat16 {
		return rounded(x, d, func(x, d *Node) *Node { return Kernels{Plain: k.Plain}.CrossCorrelate(x, d, stride, pad) })
	}
	// GoMLX has no gradient for a padding wider than the kernel's overhang: what is beyond it becomes part of an operand.
	if size := d.Shape().Dim(0); pad >= size {
		if size == 1 && stride == 1 {
			return border(k.CrossCorrelate(x, d, 1, 0), pad)
		}
		return k.CrossCorrelate(border(x, pad), d, stride, 0)
	}
	switch {
	case !k.Plain && isPointwise(d) && stride == 1:
		return pointwise(x, d)
	case !k.Plain && sideBySide(d, stride, pad, x.Shape().Dim(1), x.Shape().Dim(2)):
		return windowed(x, d)
	case !k.Plain && winogradFits(d, stride, pad):
		return winograd(x, d)
	case !k.Plain && fewChannels(x, d, stride, pad):
		return inPairs(x, d)
	case d.Shape().Dim(0)%2 == 0 || 2*pad >= d.Shape().Dim(0):
		// GoMLX's gradient in x is wrong for kernels of even size, and panics where the padding is wide.
		return withConvolutionGradients(convolve(x, d, stride, pad), x, d, stride, pad)
	default:
		return convolve(x, d, stride, pad)
	}
}

// rounded returns product(a, d) computed in bfloat16, in the type of a. Its gradients are computed so, too: those of the conversions
// convert what arrives.
func rounded(a, d *Node, product func(a, d *Node) *Node) *Node {
	return ConvertDType(product(ConvertDType(a, dtypes.BFloat16), ConvertDType(d, dtypes.BFloat16)), a.DType())
}

// withConvolutionGradients returns y, which is convolve(x, d, stride, pad), with gradients of this package.
func withConvolutionGradients(y, x, d *Node, stride, pad int) *Node {
	height, width := x.Shape().Dim(1), x.Shape().Dim(2)
	return withGradients(y,
		operand{x, func(v *Node) *Node { return transpose(v, d, stride, pad, height, width) }},
		operand{d, func(v *Node) *Node { return kernelGradient(x, v, stride, pad, d.Shape().Dim(0), d.Shape().Dim(1)) }})
}

// isPointwise says whether the kernel d is 1×1.
func isPointwise(d *Node) bool {
	return d.Shape().Dim(0) == 1 && d.Shape().Dim(1) == 1
}

// pointwise replaces CrossCorrelate(x, d, 1, 0) for 1×1 kernels by one matrix product over the channels of all
// positions: XLA's gradient of such a convolution in d is slow.
func pointwise(x, d *Node) *Node {
	dims := slices.Clone(x.Shape().Dimensions)
	c, k := d.Shape().Dim(2), d.Shape().Dim(3)
	y := Dot(Reshape(x, -1, c), Reshape(d, c, k)).Product()
	dims[3] = k
	return Reshape(y, dims...)
}

// sideBySide says whether a kernel as large as the stride covers images of that size with windows that neither overlap nor leave
// a gap: with one window, too.
func sideBySide(d *Node, stride, pad, height, width int) bool {
	kh, kw := d.Shape().Dim(0), d.Shape().Dim(1)
	one := kh == height && kw == width
	return pad == 0 && (one || kh == stride && kw == stride && height%kh == 0 && width%kw == 0)
}

// windowed replaces CrossCorrelate where the windows tile the image by one matrix product over them.
func windowed(x, d *Node) *Node {
	kh, kw, c, k := d.Shape().Dim(0), d.Shape().Dim(1), d.Shape().Dim(2), d.Shape().Dim(3)
	dims := slices.Clone(x.Shape().Dimensions)
	dims[1], dims[2], dims[3] = dims[1]/kh, dims[2]/kw, k
	windows := TransposeAllAxes(Reshape(x, dims[0], dims[1], kh, dims[2], kw, c), 0, 1, 3, 2, 4, 5)
	return Reshape(Dot(Reshape(windows, -1, kh*kw*c), Reshape(d, kh*kw*c, k)).Product(), dims...)
}

// windowedTranspose is the adjoint of windowed in x.
func windowedTranspose(z, d *Node) *Node {
	kh, kw, c, k := d.Shape().Dim(0), d.Shape().Dim(1), d.Shape().Dim(2), d.Shape().Dim(3)
	count, rows, columns := z.Shape().Dim(0), z.Shape().Dim(1), z.Shape().Dim(2)
	windows := DotGeneral(Reshape(z, -1, k), []int{1}, nil, Reshape(d, kh*kw*c, k), []int{1}, nil)
	x := TransposeAllAxes(Reshape(windows, count, rows, columns, kh, kw, c), 0, 1, 3, 2, 4, 5)
	return Reshape(x, count, rows*kh, columns*kw, c)
}

// Transpose returns d * z, the exact adjoint of [Kernels.CrossCorrelate] in x: ⟨d ⋆ x, z⟩ = ⟨x, d * z⟩ for all x
// [N, height, width, C]. z is [N, H', W', K], d [kh, kw, C, K], the result [N, height, width, C]. It is differentiable
// in both.
func (k Kernels) Transpose(z, d *Node, stride, pad, height, width int) *Node {
	if k.BFloat16 {
		return rounded(z, d, func(z, d *Node) *Node { return Kernels{Plain: k.Plain}.Transpose(z, d, stride, pad, height, width) })
	}
	if size := d.Shape().Dim(0); pad >= size {
		bordered := k.Transpose(z, d, stride, 0, height+2*pad, width+2*pad)
		return Slice(bordered, AxisRange(), AxisRange(pad, pad+height), AxisRange(pad, pad+width), AxisRange())
	}
	if !k.Plain && winogradFits(d, stride, pad) {
		return winogradTranspose(z, d)
	}
	if !k.Plain && sideBySide(d, stride, pad, height, width) {
		return windowedTranspose(z, d)
	}
	return withGradients(transpose(z, d, stride, pad, height, width),
		operand{z, func(v *Node) *Node { return k.CrossCorrelate(v, d, stride, pad) }},
		operand{d, func(v *Node) *Node { return kernelGradient(v, z, stride, pad, d.Shape().Dim(0), d.Shape().Dim(1)) }})
}

// convolve is GoMLX's convolution in this package's terms.
func convolve(x, d *Node, stride, pad int) *Node {
	return Convolve(x, d).Strides(stride).PaddingPerDim([][2]int{{pad, pad}, {pad, pad}}).Done()
}

// transpose is the adjoint of convolve in x, for x [N, height, width, C]: the flipped kernel slides over z with
// stride−1 zeros between its positions.
func transpose(z, d *Node, stride, pad, height, width int) *Node {
	paddings := [][2]int{
		adjointPadding(d.Shape().Dim(0), z.Shape().Dim(1), stride, pad, height),
		adjointPadding(d.Shape().Dim(1), z.Shape().Dim(2), stride, pad, width),
	}
	return Convolve(z, flipped(d)).
		InputDilationPerAxis(stride, stride).PaddingPerDim(paddings).Done()
}

// flipped returns the kernel [kh, kw, K, C] of the adjoint: d reversed along its spatial axes, its channels exchanged.
func flipped(d *Node) *Node {
	return TransposeAllAxes(Reverse(d, 0, 1), 0, 1, 3, 2)
}

// adjointPadding returns the padding along an axis with which the flipped kernel turns `positions` of z into `size` of x.
func adjointPadding(kernel, positions, stride, pad, size int) [2]int {
	before := kernel - 1 - pad
	spread := (positions-1)*stride + 1
	return [2]int{before, size + kernel - 1 - spread - before}
}

// kernelGradient returns the gradient [kh, kw, C, K] with respect to the kernel of convolve, for its input x and the
// gradient v with respect to its result.
func kernelGradient(x, v *Node, stride, pad, kh, kw int) *Node {
	// The batch is what is summed over, so it takes the place of the channels; the stride dilates v.
	axes := ConvolveAxesConfig{
		InputBatch: 3, InputSpatial: []int{1, 2}, InputChannels: 0,
		KernelInputChannels: 0, KernelSpatial: []int{1, 2}, KernelOutputChannels: 3,
		OutputBatch: 2, OutputSpatial: []int{0, 1}, OutputChannels: 3,
	}
	paddings := [][2]int{
		kernelPadding(kh, v.Shape().Dim(1), stride, pad, x.Shape().Dim(1)),
		kernelPadding(kw, v.Shape().Dim(2), stride, pad, x.Shape().Dim(2)),
	}
	return Convolve(x, v).AxesConfig(axes).DilationPerAxis(stride, stride).PaddingPerDim(paddings).Done()
}

// kernelPadding returns the padding of x along an axis with which v, spread by the stride, finds room at `kernel`
// places. It is negative after the end where the stride does not reach x's last entries.
func kernelPadding(kernel, positions, stride, pad, size int) [2]int {
	spread := (positions-1)*stride + 1
	return [2]int{pad, kernel - 1 + spread - size - pad}
}

// border puts `width` zeros around the spatial axes of x [N, H, W, C].
func border(x *Node, width int) *Node {
	for _, axis := range []int{1, 2} {
		side := x.Shape().Clone()
		side.Dimensions[axis] = width
		zeros := Zeros(x.Graph(), side)
		x = Concatenate([]*Node{zeros, x, zeros}, axis)
	}
	return x
}
