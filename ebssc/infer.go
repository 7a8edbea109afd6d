package ebssc

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc/internal/ops"
)

// stack is the state of inference in a graph: a network's blocks with their current codes.
//
// The codes z_1 … z_L of a hypothesis share a joint energy, E = Σ_ℓ E'_ℓ(z_{ℓ−1}, y, z_ℓ) with z_0
// the image. The bottom-up pass sets each code to its own block's optimum and ignores the blocks
// above. Then each sweep, again from the bottom to the top, sets each code to the optimum of the
// joint energy with all other codes fixed: the block above, which reads this code, shifts its
// thresholds by r = d_{ℓ+1} * z_{ℓ+1}. This is block-coordinate ascent, so the joint energy never
// falls. Below a max pool it is an approximation: r goes to the maxima of the code before the
// update, and the energy may fall.
type stack struct {
	// image is the input of the first block.
	image  *Node
	levels []*level
	// above is the path from the last block to the classifier.
	above path
}

// level is one block with its current code, and the path from the code below.
type level struct {
	block Block
	path  path
	// dictionary [k, k, C, K], offset [K], thresholds [1, Y, H, W, 2K] or a scalar; thresholds are nil
	// if they are zero.
	dictionary, offset, thresholds *Node
	// input is the output of the path, and drive is computed from it: u or, for split codes, [u, −u].
	input, drive *Node
	// code is the block's code, and norm is ‖z̃‖₂, shaped as the code's batch axes; nil if the block
	// is not spherical.
	code, norm *Node
}

// infer computes all codes of the model: by the bottom-up pass, and n.Sweeps sweeps of
// block-coordinate ascent, each of which updates every code once, from the bottom to the top.
func (n Network) infer(scope *model.Scope, h Hyper, images *Node) *stack {
	images.AssertDims(-1, n.Height, n.Width, n.Channels)
	s := n.bottomUp(scope, h, images)
	for range n.Sweeps {
		for i := range s.levels {
			s.update(i)
		}
	}
	return s
}

// bottomUp is the bottom-up pass: it creates the variables and computes each block's own optimal
// code.
func (n Network) bottomUp(scope *model.Scope, h Hyper, images *Node) *stack {
	s := &stack{image: images}
	p := path{impl: implementation(images.Graph()), unitNorm: n.Blocks()[0].Block.Coding.Spherical}
	p.impl.BFloat16 = h.Precision == BFloat16
	if p.unitNorm {
		s.image, _ = Normalize(images, 1)
	}
	for _, layer := range n.Layers {
		if layer.Pool != nil {
			p.pools = append(p.pools, *layer.Pool)
			continue
		}
		if len(s.levels) > 0 {
			p.dropout = newDropout(scope, h, images.Graph())
		}
		l := &level{block: *layer.Block, path: p}
		l.build(scope.In("%s", layer.Name), h, s.below(len(s.levels)), n.Classes)
		l.encode(l.drive)
		s.levels = append(s.levels, l)
		p = path{impl: p.impl, unitNorm: l.block.Coding.Spherical}
	}
	s.above = p
	return s
}

// below returns the input code of block i (from 0).
func (s *stack) below(i int) *Node {
	if i == 0 {
		return s.image
	}
	return s.levels[i-1].code
}

// update sets the code of block i (from 0) to the optimum of the joint energy with all other codes
// fixed, and with the maxima of max pools above it where they are.
func (s *stack) update(i int) {
	l := s.levels[i]
	if i > 0 {
		l.computeDrive(s.below(i))
	}
	drive := l.drive
	if i+1 < len(s.levels) {
		above := s.levels[i+1]
		r := above.backProject(above.code, l.code)
		// A code becomes class-specific by the block above, too.
		drive = ops.EachHalf(aligned(drive, r), r, Add)
	}
	l.encode(drive)
}

// energy is E'(x, y, z) [N] or [N, Y] of the block at its current code and drive.
func (l *level) energy() *Node {
	drive := aligned(l.drive, l.code)
	thresholds := ScalarZero(drive.Graph(), drive.DType())
	if l.thresholds != nil {
		thresholds = l.thresholds
	}
	energy := Energy(drive, thresholds, l.code, batchAxes(l.code))
	energy.AssertRank(batchAxes(l.code))
	return energy
}

// build creates the block's variables, in scope, and computes its drive. All variables are in the
// paper's units, in which codes have unit norm: d [k, k, C, K], b [K] from 0, and β or ŵ_y = [ŵ_y⁺,
// ŵ_y⁻] [Y, H, W, 2K] from about h.Beta.
func (l *level) build(scope *model.Scope, h Hyper, below *Node, classes int) {
	g, dtype := below.Graph(), below.DType()
	k, channels, filters := l.block.Kernel, below.Shape().Dim(-1), l.block.Filters
	dictionary := variable(scope, "dictionary", dtype, []int{k, k, channels, filters},
		orthogonal(dictionaryGain))
	offset := variable(scope, "offset", dtype, []int{filters}, uniform(0, 0))
	l.dictionary, l.offset = dictionary.NodeValue(g), offset.NodeValue(g)
	l.computeDrive(below)
	rms := l.path.rms(l.input)
	registerUpdate(scope, offset, g, rms, false)
	switch l.block.Coding.Thresholds {
	case Beta:
		beta := variable(scope, "thresholds", dtype, nil, uniform(h.Beta, 0))
		registerUpdate(scope, beta, g, rms*h.BetaLRScale, true)
		l.thresholds = beta.NodeValue(g)
	case ClassSpecific:
		spatial := l.drive.Shape().Dimensions[batchAxes(l.drive):]
		thresholds := variable(scope, "thresholds", dtype, append([]int{classes}, spatial...),
			uniform(h.Beta, h.ClassSpread))
		registerUpdate(scope, thresholds, g, rms*h.ClassLRScale, true)
		l.thresholds = InsertAxes(thresholds.NodeValue(g), 0)
	}
}

// computeDrive recomputes u = d ⋆ x + b from the current code below. x is padded with zeros, so a
// 1×1 kernel's drive in the padding is b.
func (l *level) computeDrive(below *Node) {
	l.input = l.path.forward(below)
	l.drive = onImages(l.input, func(x *Node) *Node {
		u := l.path.impl.CrossCorrelate(x, l.dictionary, l.block.Stride, l.block.Padding)
		return Add(u, ExpandLeftToRank(l.offset, u.Rank()))
	})
	if !l.block.Coding.Rectified {
		l.drive = SplitDrive(l.drive)
	}
}

// encode sets the code to the block's optimum for a drive: the block's own, or that plus r, the
// block above's top-down term d * (z⁺ − z⁻): the gradient of that block's energy with respect to
// this code.
func (l *level) encode(drive *Node) {
	if l.thresholds != nil {
		drive = excess(aligned(drive, l.thresholds), l.thresholds)
	}
	if l.block.Coding.Spherical {
		l.code, l.norm = normalizeRectified(drive, batchAxes(drive))
	} else {
		l.code = rectify(drive)
	}
}

// backProject maps a signal shaped as this block's code to the space of the code below, [N, (Y,) H,
// W, C]: d * (z⁺ − z⁻), of a rectified block d * z, then the adjoint of the path. below is the code
// whose maxima the max pools pass values to.
func (l *level) backProject(from, below *Node) *Node {
	spatial := l.input.Shape().Dimensions[batchAxes(l.input):]
	if !l.block.Coding.Rectified {
		from = Signed(from)
	}
	from = onImages(from, func(z *Node) *Node {
		return l.path.impl.Transpose(z, l.dictionary, l.block.Stride, l.block.Padding, spatial[0],
			spatial[1])
	})
	return l.path.unpool(l.path.dropout.apply(from), below)
}

// path maps a code to the input of the block above: pools and, in training, dropout.
type path struct {
	impl    ops.Impl
	pools   []Pool
	dropout *dropout
	// unitNorm says that the code below, or the image, has unit norm.
	unitNorm bool
}

func (p path) forward(code *Node) *Node {
	for _, pool := range p.pools {
		operation := p.impl.MaxPool
		if pool.Average {
			operation = p.impl.AvgPool
		}
		code = onImages(code, func(x *Node) *Node {
			return operation(x, pool.Window, pool.Stride, pool.Padding)
		})
	}
	return p.dropout.apply(code)
}

// rms returns the root mean square of the entries of the path's output, the scale of offsets and
// thresholds in the block above: 1/√n for n entries of a code of unit norm, pooled or not; 1 for a
// code that is not normalised.
func (p path) rms(output *Node) float64 {
	if !p.unitNorm {
		return 1
	}
	shape := output.Shape()
	return 1 / math.Sqrt(float64(shape.Dim(-3)*shape.Dim(-2)*shape.Dim(-1)))
}

// unpool is the adjoint of the pools: it maps r to the space of the code below. A max pool passes r
// to the positions of that code's maxima.
func (p path) unpool(r, below *Node) *Node {
	if len(p.pools) == 0 {
		return r
	}
	if r.Rank() > below.Rank() {
		dims := slices.Insert(slices.Clone(below.Shape().Dimensions), 1, r.Shape().Dim(1))
		below = BroadcastToDims(InsertAxes(below, 1), dims...)
	}
	below = Identity(StopGradient(below)) // a stopped node itself gets no gradient
	// fast kernels: GoMLX's own pools have no second derivative
	above := path{pools: p.pools}.forward(below)
	return Gradient(ReduceAllSum(Mul(above, r)), below)[0]
}

// dropout zeroes entries in training and rescales the others to keep the mean. All hypotheses of an
// image share one mask (with separate masks, the noise would look like evidence for a class). So do
// all sweeps and both directions: the mask thins the coupling between two blocks, and the sweeps
// still ascend one joint energy.
type dropout struct {
	key  *Node
	rate float64
}

// newDropout draws the key of a mask; it returns nil if nothing is dropped.
func newDropout(scope *model.Scope, h Hyper, g *Graph) *dropout {
	if h.Dropout <= 0 || !scope.IsTraining(g) {
		return nil
	}
	return &dropout{scope.Store().RandomIntN(g, uint64(1)<<32, shapes.Make(dtypes.Uint32, 2)),
		h.Dropout}
}

// apply drops entries of a code. It is self-adjoint.
func (d *dropout) apply(code *Node) *Node {
	if d == nil {
		return code
	}
	var shared []int
	if batchAxes(code) == 2 {
		shared = []int{1}
	}
	return ops.Dropout(code, d.key, d.rate, shared...)
}
