package ops

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// CrossCorrelate returns d ⋆ x, what deep-learning libraries call a convolution, for x [N, H, W, C]
// and d [kh, kw, C, K] with the same stride along both spatial axes and pad zeros on each side: [N,
// H', W', K] with H' = (H + 2·pad − kh)/stride + 1, rounded down. It is differentiable in both.
func (k Impl) CrossCorrelate(x, d *Node, stride, pad int) *Node {
	// GoMLX has no gradient for a padding wider than the kernel's overhang: pad an operand instead.
	if size := d.Shape().Dim(0); pad >= size {
		if size == 1 && stride == 1 {
			return zeroPad(k.CrossCorrelate(x, d, 1, 0), pad)
		}
		return k.CrossCorrelate(zeroPad(x, pad), d, stride, 0)
	}
	height, width := x.Shape().Dim(1), x.Shape().Dim(2)
	switch {
	case !k.Plain && tilesImage(d, stride, pad, height, width):
		return k.patchwise(x, d)
	case !k.Plain && k.fits3x3(d, stride, pad):
		return k.correlate3x3(x, d)
	case !k.Plain && fitsColumnPairs(x, d, stride, pad):
		return columnPairs(x, d)
	case d.Shape().Dim(0)%2 == 0 || 2*pad >= d.Shape().Dim(0),
		!k.Plain && fitsCells(stride, pad, height, width):
		// GoMLX's gradient in x is wrong for kernels of even size, panics where the padding is wide, and
		// is slow with a stride.
		return withGradients(convolve(x, d, stride, pad),
			operand{x, func(v *Node) *Node { return k.Transpose(v, d, stride, pad, height, width) }},
			operand{d, func(v *Node) *Node {
				return kernelGradient(x, v, stride, pad, d.Shape().Dim(0), d.Shape().Dim(1))
			}})
	default:
		return convolve(x, d, stride, pad)
	}
}

// tilesImage reports whether the windows of the kernel d cover an image exactly once: as
// non-overlapping patches without gaps, as single pixels, or as one window.
func tilesImage(d *Node, stride, pad, height, width int) bool {
	kh, kw := d.Shape().Dim(0), d.Shape().Dim(1)
	one := kh == height && kw == width
	return pad == 0 && (one || kh == stride && kw == stride && height%kh == 0 && width%kw == 0)
}

// patchwise computes CrossCorrelate for windows that tile the image as one matrix product over the
// patches: XLA's gradient of a convolution with 1×1 kernels is slow.
func (k Impl) patchwise(x, d *Node) *Node {
	kh, kw, c, filters := d.Shape().Dim(0), d.Shape().Dim(1), d.Shape().Dim(2), d.Shape().Dim(3)
	count, rows, columns := x.Shape().Dim(0), x.Shape().Dim(1)/kh, x.Shape().Dim(2)/kw
	windows := TransposeAllAxes(Reshape(x, count, rows, kh, columns, kw, c), 0, 1, 3, 2, 4, 5)
	u := k.multiply(Reshape(windows, -1, kh*kw*c), d, 0)
	return Reshape(u, count, rows, columns, filters)
}

// patchwiseTranspose is the adjoint of patchwise with respect to x.
func (k Impl) patchwiseTranspose(z, d *Node) *Node {
	kh, kw, c, filters := d.Shape().Dim(0), d.Shape().Dim(1), d.Shape().Dim(2), d.Shape().Dim(3)
	count, rows, columns := z.Shape().Dim(0), z.Shape().Dim(1), z.Shape().Dim(2)
	windows := k.multiply(Reshape(z, -1, filters), d, 1)
	return joinTiles(Reshape(windows, count, rows, columns, kh, kw, c))
}

// multiply returns a·D for axis 0, which it sums over, and a·Dᵀ for axis 1. D [kh·kw·C, K] is the
// kernel d [kh, kw, C, K] as a matrix. With BFloat16 products with 1×1 kernels on eight or more
// channels are in bfloat16, with their gradients.
func (k Impl) multiply(a, d *Node, axis int) *Node {
	kh, kw, c, filters := d.Shape().Dim(0), d.Shape().Dim(1), d.Shape().Dim(2), d.Shape().Dim(3)
	dtype := d.DType()
	if k.BFloat16 && kh*kw == 1 && c >= 8 {
		dtype = dtypes.BFloat16
	}
	return dot(dtype, a, 1, Reshape(d, kh*kw*c, filters), axis)
}

// dot multiplies a and b in dtype and returns the product in a's format. It sums over an axis of
// each, at each position along the batch axes of both. GoMLX must be told that bfloat16
// accumulates, though libraries add in float32: otherwise it copies an operand for each product.
func dot(dtype dtypes.DType, a *Node, axisOfA int, b *Node, axisOfB int, batch ...int) *Node {
	product := Dot(ConvertDType(a, dtype), ConvertDType(b, dtype)).WithAccumulatorDType(dtype)
	return ConvertDType(product.General([]int{axisOfA}, batch, []int{axisOfB}, batch), a.DType())
}

// joinTiles puts tiles [N, rows, columns, kh, kw, C] together to images [N, rows·kh, columns·kw,
// C].
func joinTiles(tiles *Node) *Node {
	dims := tiles.Shape().Dimensions
	return Reshape(TransposeAllAxes(tiles, 0, 1, 3, 2, 4, 5),
		dims[0], dims[1]*dims[3], dims[2]*dims[4], dims[5])
}

// Transpose returns d * z, the exact adjoint of [Impl.CrossCorrelate] with respect to x: ⟨d ⋆ x, z⟩
// = ⟨x, d * z⟩ for all x [N, height, width, C]. z is [N, H', W', K], d [kh, kw, C, K], the result
// [N, height, width, C]. It is differentiable in both.
func (k Impl) Transpose(z, d *Node, stride, pad, height, width int) *Node {
	if size := d.Shape().Dim(0); pad >= size {
		bordered := k.Transpose(z, d, stride, 0, height+2*pad, width+2*pad)
		return Slice(bordered, AxisRange(), AxisRange(pad, pad+height), AxisRange(pad, pad+width),
			AxisRange())
	}
	if !k.Plain && k.fits3x3(d, stride, pad) {
		return k.transpose3x3(z, d)
	}
	if !k.Plain && tilesImage(d, stride, pad, height, width) {
		return k.patchwiseTranspose(z, d)
	}
	var x *Node
	if !k.Plain && fitsCells(stride, pad, height, width) {
		x = transposeOnCells(z, d, stride, height, width)
	} else {
		x = transpose(z, d, stride, pad, height, width)
	}
	return withGradients(x,
		operand{z, func(v *Node) *Node { return k.CrossCorrelate(v, d, stride, pad) }},
		operand{d, func(v *Node) *Node {
			return kernelGradient(v, z, stride, pad, d.Shape().Dim(0), d.Shape().Dim(1))
		}})
}

// convolve is GoMLX's convolution with this package's parameters.
func convolve(x, d *Node, stride, pad int) *Node {
	return Convolve(x, d).Strides(stride).PaddingPerDim([][2]int{{pad, pad}, {pad, pad}}).Done()
}

// transpose is the adjoint of convolve with respect to x [N, height, width, C]: the flipped kernel
// slides over z dilated by the stride.
func transpose(z, d *Node, stride, pad, height, width int) *Node {
	paddings := [][2]int{
		adjointPadding(d.Shape().Dim(0), z.Shape().Dim(1), stride, pad, height),
		adjointPadding(d.Shape().Dim(1), z.Shape().Dim(2), stride, pad, width),
	}
	return Convolve(z, flipped(d)).
		InputDilationPerAxis(stride, stride).PaddingPerDim(paddings).Done()
}

// flipped returns the kernel [kh, kw, K, C] of the adjoint: d reversed along its spatial axes, with
// C and K exchanged.
func flipped(d *Node) *Node {
	return TransposeAllAxes(Reverse(d, 0, 1), 0, 1, 3, 2)
}

// adjointPadding returns the padding of the dilated z along an axis: with it the flipped kernel
// maps `positions` entries of z to `size` entries of x.
func adjointPadding(kernel, positions, stride, pad, size int) [2]int {
	before := kernel - 1 - pad
	dilated := (positions-1)*stride + 1
	return [2]int{before, size + kernel - 1 - dilated - before}
}

// kernelGradient returns the gradient [kh, kw, C, K] of convolve with respect to its kernel, for
// its input x and the gradient v with respect to its result.
func kernelGradient(x, v *Node, stride, pad, kh, kw int) *Node {
	// The sum runs over the batch, so it takes the role of the channels; the stride dilates v.
	axes := ConvolveAxesConfig{
		InputBatch: 3, InputSpatial: []int{1, 2}, InputChannels: 0,
		KernelInputChannels: 0, KernelSpatial: []int{1, 2}, KernelOutputChannels: 3,
		OutputBatch: 2, OutputSpatial: []int{0, 1}, OutputChannels: 3,
	}
	paddings := [][2]int{
		kernelPadding(kh, v.Shape().Dim(1), stride, pad, x.Shape().Dim(1)),
		kernelPadding(kw, v.Shape().Dim(2), stride, pad, x.Shape().Dim(2)),
	}
	convolution := Convolve(x, v).AxesConfig(axes).DilationPerAxis(stride, stride)
	return convolution.PaddingPerDim(paddings).Done()
}

// kernelPadding returns the padding of x along an axis: with it the dilated v fits at `kernel`
// positions. The padding at the end is negative if the strided windows do not reach x's last
// entries.
func kernelPadding(kernel, positions, stride, pad, size int) [2]int {
	dilated := (positions-1)*stride + 1
	return [2]int{pad, kernel - 1 + dilated - size - pad}
}

// zeroPad pads the spatial axes of x [N, H, W, C] with `width` zeros on each side.
func zeroPad(x *Node, width int) *Node {
	zero := ScalarZero(x.Graph(), x.DType())
	return padAxis(padAxis(x, zero, 1, width, width), zero, 2, width, width)
}
