package ops

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"golang.org/x/sys/cpu"
)

// winograd is Winograd's minimal filtering F(4×4, 3×3): a 3×3 cross-correlation with stride 1 and
// padding 1 maps tiles of 6×6 inputs to tiles of 4×4 outputs. input transforms a tile on both
// sides. At each of its 36 points it is multiplied by the kernel, transformed by filter: one matrix
// product over the channels a point. output transforms the products to the outputs. This takes a
// quarter of the multiplications. Lavin & Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016, section 4.1, call the matrices Bᵀ, G and Aᵀ.
type winograd struct {
	input, filter, output [][]float32
	// dtype is the format in which operands, products and results are kept. Between them numbers
	// are float32.
	dtype dtypes.DType
}

// float32Winograd has the numbers of Lavin & Gray. With them a value of random operands would have
// an error of 3 % in bfloat16 (root mean square). It has 1.4 % with bfloat16Winograd, 0.3 % with
// bfloat16Value.
var (
	float32Winograd  = newWinograd(1, 2, dtypes.Float32)
	bfloat16Winograd = newWinograd(2./3, 3./2, dtypes.BFloat16)
)

// newWinograd returns the matrices that evaluate polynomials at 0, ±p, ±q and ∞, in that order.
func newWinograd(p, q float32, dtype dtypes.DType) winograd {
	pp, qq := p*p, q*q
	atP, atQ := 2*pp*(pp-qq), 2*qq*(qq-pp)
	return winograd{dtype: dtype,
		input: [][]float32{
			{pp * qq, 0, -pp - qq, 0, 1, 0},
			{0, -p * qq, -qq, p, 1, 0},
			{0, p * qq, -qq, -p, 1, 0},
			{0, -pp * q, -pp, q, 1, 0},
			{0, pp * q, -pp, -q, 1, 0},
			{0, pp * qq, 0, -pp - qq, 0, 1},
		},
		filter: [][]float32{
			{1 / (pp * qq), 0, 0},
			{1 / atP, p / atP, pp / atP},
			{1 / atP, -p / atP, pp / atP},
			{1 / atQ, q / atQ, qq / atQ},
			{1 / atQ, -q / atQ, qq / atQ},
			{0, 0, 1},
		},
		output: [][]float32{
			{1, 1, 1, 1, 1, 0},
			{0, p, -p, q, -q, 0},
			{0, pp, pp, qq, qq, 0},
			{0, p * pp, -p * pp, q * qq, -q * qq, 1},
		},
	}
}

const (
	tile   = 4        // outputs of a tile along an axis
	points = tile + 2 // inputs of a tile along an axis, and points of its transform

	// chunkBytes bounds the transformed tiles and products of a step of the loop over the batch. From
	// 4 to 32 MiB the time hardly changes; outside it rises.
	chunkBytes = 8 << 20
)

// fits3x3 reports whether [Impl.of3x3] computes a convolution with d and its gradients: 3×3 kernels
// on eight or more channels, with stride 1 and padding 1, of float32 numbers. With BFloat16 it
// computes all of these, else those with 256 channels times filters or more.
//
// On two cores, forward and both gradients, the transforms take 0.2 to 0.6 of the time of XLA's
// convolutions at the networks' shapes (48 to 384 channels; BenchmarkStepConvolution), 0.5 to 0.8
// of it at 16 to 64. Their error is up to 1e-5 of the largest result; XLA's is 1e-6. With 8
// channels and 4 filters they take 0.75 of it when measured alone. But networks of width 4 and 8
// take 0.6 to 1 of the time, and compile in 0.4 to 1 of it, with such kernels left to XLA (Zen 3).
func (k Impl) fits3x3(d *Node, stride, pad int) bool {
	dims := d.Shape().Dimensions
	return d.DType() == dtypes.Float32 && dims[0] == 3 && dims[1] == 3 && dims[2] >= 8 &&
		(k.BFloat16 || dims[2]*dims[3] >= 256) && stride == 1 && pad == 1
}

// correlate3x3 computes CrossCorrelate(x, d, 1, 1) for 3×3 kernels with custom gradients: the one
// with respect to x is the same operation with the flipped kernel, the one with respect to d an
// operation of its own.
func (k Impl) correlate3x3(x, d *Node) *Node {
	value, gradient := k.of3x3(d)
	return withGradients(value(x, d),
		operand{x, func(v *Node) *Node { return value(v, flipped(d)) }},
		operand{d, func(v *Node) *Node { return gradient(x, v) }})
}

// transpose3x3 computes Transpose(z, d, 1, 1, H, W) for 3×3 kernels in the same way.
func (k Impl) transpose3x3(z, d *Node) *Node {
	value, gradient := k.of3x3(d)
	return withGradients(value(z, flipped(d)),
		operand{z, func(v *Node) *Node { return value(v, d) }},
		operand{d, func(v *Node) *Node { return gradient(v, z) }})
}

// of3x3 returns the functions that compute d ⋆ x, [N, H, W, K], of x and d, and its gradient with
// respect to d, [3, 3, C, K], of x and the gradient with respect to d ⋆ x: for this d and for its
// adjoint.
//
// The bounds in bfloat16 without AMX were measured on a Zen 4. A value takes as long by the
// transforms as by bfloat16Value with 96 channels and 48 filters, 0.8 of the time with 96 and
// 96. A gradient takes as long in bfloat16 as in float32 with 48 and 24, less with 96 and 48. By
// bfloat16KernelGradient it takes longer than by either. On a Zen 5 no other bound for values made
// networks faster (64×48).
func (k Impl) of3x3(d *Node) (value, gradient func(x, other *Node) *Node) {
	size := d.Shape().Dim(2) * d.Shape().Dim(3)
	switch {
	case !k.BFloat16:
		return float32Winograd.value, float32Winograd.kernelGradient
	case cpu.X86.HasAMXBF16:
		return bfloat16Value, bfloat16KernelGradient
	case size < 96*48:
		return bfloat16Value, float32Winograd.kernelGradient
	case size < 96*96:
		return bfloat16Value, bfloat16Winograd.kernelGradient
	}
	return bfloat16Winograd.value, bfloat16Winograd.kernelGradient
}

// value computes d ⋆ x, [N, H, W, K], by the transforms.
func (w winograd) value(x, d *Node) *Node {
	t := w.tiles(x, d.Shape().Dim(3))
	zero, one := opaqueScalars(d)
	y := BroadcastToDims(ConvertDType(zero, w.dtype), t.batch, t.height, t.width, t.filters)
	inputs := []*Node{ConvertDType(x, w.dtype), ConvertDType(w.transformFilter(d), w.dtype), one}
	y = loopOverBatch(t.batch, t.chunk, inputs, y,
		func(start *Node, inputs []*Node, y *Node) *Node {
			x, kernel, one := inputs[0], inputs[1], inputs[2]
			in := t.transformInput(batchChunk(x, start, t.chunk), one)
			in = ConvertDType(in, w.dtype) // so that the products stay in it
			products := dot(w.dtype, in, 2, kernel, 1, 0)
			out := ConvertDType(t.transformOutput(products, one), w.dtype)
			return updateBatch(y, out, start)
		})
	return ConvertDType(y, dtypes.Float32)
}

// kernelGradient returns the gradient [3, 3, C, K] of d ⋆ x with respect to d, for the gradient v
// with respect to d ⋆ x.
func (w winograd) kernelGradient(x, v *Node) *Node {
	t := w.tiles(x, v.Shape().Dim(3))
	zero, one := opaqueScalars(v)
	total := BroadcastToDims(zero, points*points, t.channels, t.filters)
	inputs := []*Node{ConvertDType(x, w.dtype), ConvertDType(v, w.dtype), one}
	return w.filterAdjoint(loopOverBatch(t.batch, t.chunk, inputs, total,
		func(start *Node, inputs []*Node, total *Node) *Node {
			x, v, one := inputs[0], inputs[1], inputs[2]
			in := t.transformInput(batchChunk(x, start, t.chunk), one)
			out := t.outputAdjoint(batchChunk(v, start, t.chunk), one)
			// Without the quotient XLA lets oneDNN add, too, which rounds the total to bfloat16.
			return Add(total, Div(t.sumOverTiles(in, out), one))
		}))
}

// sumOverTiles returns inᵀ·out at each point: [36, tiles, C] and [36, tiles, K] to [36, C, K]. In
// float32 it is split into several products, which XLA computes in parallel: it computes the points
// of one batched product in sequence on one core.
func (w winograd) sumOverTiles(in, out *Node) *Node {
	parts := 4
	if w.dtype == dtypes.BFloat16 {
		parts = 1
	}
	products := make([]*Node, parts)
	for i := range products {
		part := AxisRange(i*points*points/parts, (i+1)*points*points/parts)
		products[i] = dot(w.dtype, SliceAxis(in, 0, part), 1, SliceAxis(out, 0, part), 1, 0)
	}
	return Concatenate(products, 0)
}

// tiles holds the dimensions of a convolution in tiles of 4×4 outputs.
type tiles struct {
	winograd
	batch, height, width, channels, filters int
	rows, columns                           int // number of tiles along the spatial axes
	chunk                                   int // images in a step of the loop
}

func (w winograd) tiles(x *Node, filters int) tiles {
	dims := x.Shape().Dimensions
	t := tiles{winograd: w, batch: dims[0], height: dims[1], width: dims[2], channels: dims[3],
		filters: filters}
	t.rows, t.columns = (t.height+tile-1)/tile, (t.width+tile-1)/tile
	bytes := w.dtype.Size() * points * points * t.rows * t.columns * (t.channels + t.filters)
	t.chunk = chunkSize(x.Graph(), t.batch, bytes, chunkBytes)
	return t
}

// transformInput returns the transformed 6×6 tiles of x [n, H, W, C]: [36, n·rows·columns, C].
func (t tiles) transformInput(x, one *Node) *Node {
	x = Pad(x, ConvertDType(Const(x.Graph(), float32(0)), x.DType()), PadAxis{},
		PadAxis{Start: 1, End: t.rows*tile + 1 - t.height},
		PadAxis{Start: 1, End: t.columns*tile + 1 - t.width}, PadAxis{})
	x = applyMatrix(t.input, windows(x, 1, points, tile, t.rows), 0)
	x = Div(x, one)
	x = applyMatrix(t.input, windows(x, 3, points, tile, t.columns), 1)
	return Reshape(x, points*points, t.chunk*t.rows*t.columns, t.channels)
}

// outputAdjoint is the adjoint of transformOutput: [n, H, W, K] to [36, n·rows·columns, K].
func (t tiles) outputAdjoint(v, one *Node) *Node {
	v = Pad(v, ConvertDType(Const(v.Graph(), float32(0)), v.DType()), PadAxis{},
		PadAxis{End: t.rows*tile - t.height}, PadAxis{End: t.columns*tile - t.width}, PadAxis{})
	v = Reshape(v, t.chunk, t.rows, tile, t.columns*tile, t.filters)
	v = applyMatrix(transposed(t.output), Unstack(v, 2), 0) // [6, n, rows, 4·columns, K]
	v = Div(v, one)
	v = Reshape(v, points, t.chunk, t.rows, t.columns, tile, t.filters)
	v = applyMatrix(transposed(t.output), Unstack(v, 4), 1) // [6, 6, n, rows, columns, K]
	return Reshape(v, points*points, t.chunk*t.rows*t.columns, t.filters)
}

// transformOutput transforms the products at the points [36, n·rows·columns, K] to the outputs
// [n, H, W, K].
func (t tiles) transformOutput(products, one *Node) *Node {
	y := Reshape(products, points, points, t.chunk, t.rows, t.columns, t.filters)
	y = applyMatrix(t.output, Unstack(y, 0), 3) // [6, n, rows, 4, columns, K]
	y = Div(y, one)
	y = applyMatrix(t.output, Unstack(y, 0), 4) // [n, rows, 4, columns, 4, K]
	y = Reshape(y, t.chunk, t.rows*tile, t.columns*tile, t.filters)
	return Slice(y, AxisRange(), AxisRange(0, t.height), AxisRange(0, t.width), AxisRange())
}

// transformFilter returns the transformed kernel [36, C, K] of d [3, 3, C, K].
func (w winograd) transformFilter(d *Node) *Node {
	c, k := d.Shape().Dim(2), d.Shape().Dim(3)
	u := DotGeneral(Const(d.Graph(), kronecker(w.filter)), []int{1}, nil, Reshape(d, 9, c*k),
		[]int{0}, nil)
	return Reshape(u, points*points, c, k)
}

// filterAdjoint is the adjoint of transformFilter: [36, C, K] to [3, 3, C, K].
func (w winograd) filterAdjoint(u *Node) *Node {
	c, k := u.Shape().Dim(1), u.Shape().Dim(2)
	d := DotGeneral(Const(u.Graph(), kronecker(w.filter)), []int{0}, nil,
		Reshape(u, points*points, c*k), []int{0}, nil)
	return Reshape(d, 3, 3, c, k)
}

// applyMatrix returns the linear combinations of the parts with the rows of m as weights, in
// float32, stacked along a new axis. Many weights are 0: to leave out their terms takes 5 to 7 %
// off a training step in bfloat16 (64×48, Zen 5), nothing beyond the noise in float32. Each part
// becomes float32 here: if the whole did before it was sliced, XLA would store it.
func applyMatrix(m [][]float32, parts []*Node, axis int) *Node {
	rows := make([]*Node, len(m))
	for i, weights := range m {
		var terms []*Node
		for j, weight := range weights {
			if weight != 0 {
				part := ConvertDType(parts[j], dtypes.Float32)
				terms = append(terms, Mul(part, Const(part.Graph(), weight)))
			}
		}
		rows[i] = Sum(terms)
	}
	return Stack(rows, axis)
}

// windows returns, for each position in a window, the values of x there in `count` windows along an
// axis, `stride` apart.
func windows(x *Node, axis, window, stride, count int) []*Node {
	taps := make([]*Node, window)
	for i := range taps {
		taps[i] = SliceAxis(x, axis, AxisRange(i, i+stride*(count-1)+1).Stride(stride))
	}
	return taps
}

// Unstack returns the slices of x at each position of an axis, without that axis.
func Unstack(x *Node, axis int) []*Node {
	parts := make([]*Node, x.Shape().Dim(axis))
	for i := range parts {
		parts[i] = Squeeze(SliceAxis(x, axis, AxisElem(i)), axis)
	}
	return parts
}

// opaqueScalars returns the scalars 0 and 1 in a form that XLA cannot constant-fold: they depend on
// x's first element, and are NaN if it is.
//
// XLA fuses a sum into each sum that uses it, and recomputes it there, but not a quotient: division
// by an opaque 1 materialises an intermediate result. It also copies a constant that is the initial
// state of several loops, but not an opaque 0.
func opaqueScalars(x *Node) (zero, one *Node) {
	g, dtype := x.Graph(), x.DType()
	first := firstElement(x)
	isNumber := Equal(first, first)
	return Where(isNumber, ScalarZero(g, dtype), first), Where(isNumber, ScalarOne(g, dtype), first)
}

func transposed(m [][]float32) [][]float32 {
	t := make([][]float32, len(m[0]))
	for i := range t {
		for _, row := range m {
			t[i] = append(t[i], row[i])
		}
	}
	return t
}

// kronecker returns m ⊗ m.
func kronecker(m [][]float32) [][]float32 {
	var product [][]float32
	for _, a := range m {
		for _, b := range m {
			var row []float32
			for _, x := range a {
				for _, y := range b {
					row = append(row, x*y)
				}
			}
			product = append(product, row)
		}
	}
	return product
}
