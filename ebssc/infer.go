package ebssc

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc/internal/ops"
)

// stack is the state of inference in a graph: a network's blocks with their codes as they stand.
//
// The codes z_1 … z_L of a hypothesis share a joint energy, E = Σ_ℓ E'_ℓ(z_{ℓ−1}, y, z_ℓ) with z_0 the image. One pass
// from the bottom to the top (climb) sets each code to its block's optimum, as if nothing were above. Each sweep then goes
// from the bottom to the top again and sets every code to the optimum of the joint energy with all others as they are:
// the block above, which reads this code, shifts its thresholds by r = d_{ℓ+1} * z_{ℓ+1}. So the energy never falls.
type stack struct {
	// image is what the first block reads.
	image  code
	levels []*level
	// above is the path from the last block to the classifier.
	above path
}

// level is a block with its code as it stands, and the path on which it reads the code below.
type level struct {
	block Block
	path  path
	// dictionary [k, k, C, K], offset [K], thresholds [Y, H, W, 2K] or a scalar, nil where they are zero.
	dictionary, offset, thresholds *Node
	// pooled are the codes behind each pool of the path; read is what came up, and drive what the block made of it: u, or
	// [u, −u] where the block splits it.
	pooled      []code
	read, drive code
	// code is the block's code, and norm what it was divided by (nil where the block is not spherical), shaped as the axes
	// that tell spheres apart.
	code code
	norm *Node
}

// infer is one bottom-up pass and n.Sweeps sweeps. All codes of the model come from here.
func (n Network) infer(scope *model.Scope, images *Node) *stack {
	images.AssertDims(-1, n.Height, n.Width, n.Channels)
	s := n.climb(scope, images)
	for range n.Sweeps {
		s.sweep()
	}
	return s
}

// climb is the bottom-up pass: it makes the variables and all codes.
func (n Network) climb(scope *model.Scope, images *Node) *stack {
	s := &stack{}
	at := code{values: images, unit: 1}
	pending := path{kernels: kernels(scope)}
	for _, layer := range n.Layers {
		if layer.Pool != nil {
			pending.pools = append(pending.pools, *layer.Pool)
			continue
		}
		if len(s.levels) > 0 {
			pending.dropout = newDropout(scope, images.Graph())
		} else if layer.Block.Coding.Spherical {
			at.values, _ = normalize(pending.kernels, at.values, 1)
			at.unit = at.entryUnit()
		}
		if len(s.levels) == 0 {
			s.image = at
		}
		l := &level{block: *layer.Block, path: pending}
		l.begin(scope.In("%s", layer.Name), at, n.Classes)
		l.update(nil)
		s.levels, at = append(s.levels, l), l.code
		pending = path{kernels: pending.kernels, signed: l.block.Coding.Signed}
	}
	s.above = pending
	return s
}

// sweep updates every code once, from the bottom to the top.
func (s *stack) sweep() {
	for i := range s.levels {
		s.update(i)
	}
}

// below is the code that block i (from 0) reads.
func (s *stack) below(i int) code {
	if i == 0 {
		return s.image
	}
	return s.levels[i-1].code
}

// update sets the code of block i (from 0) to the optimum of the joint energy, all other codes held fixed.
func (s *stack) update(i int) {
	l := s.levels[i]
	if i > 0 {
		l.look(s.levels[i-1].code)
	}
	var r *Node
	if i+1 < len(s.levels) {
		r = s.levels[i+1].topDown(l.code)
	}
	l.update(r)
}

// energy is E'(x, y, z) [N] or [N, Y] of the block at its code and drive as they stand.
func (l *level) energy() *Node {
	drive := l.driveOfCode()
	thresholds := ScalarZero(drive.Graph(), drive.DType())
	if l.thresholds != nil {
		thresholds = l.spread(drive)
	}
	return energy(l.path.kernels, drive, thresholds, l.code.values, l.code.batchAxes())
}

// begin makes the block's variables, in scope, and its drive. All variables are in the paper's units, where codes have
// unit norm.
func (l *level) begin(scope *model.Scope, below code, classes int) {
	g, dtype := below.values.Graph(), below.values.DType()
	dictionary := dictionaryVariable(scope, dtype, l.block.Kernel, l.path.channels(below), l.block.Filters)
	offset := offsetVariable(scope, dtype, l.block.Filters)
	l.dictionary, l.offset = dictionary.NodeValue(g), offset.NodeValue(g)
	l.look(below)
	learn(scope, offset, g, l.read.unit, false)
	betaStep := model.GetParamOr(scope, ParamBetaStep, 1.0)
	switch l.block.Coding.Thresholds {
	case Beta:
		beta := betaVariable(scope, dtype)
		learn(scope, beta, g, l.read.unit*betaStep, true)
		l.thresholds = beta.NodeValue(g)
	case BetaFilter:
		beta := filterBetaVariable(scope, dtype, l.block.Filters)
		learn(scope, beta, g, l.read.unit*betaStep, true)
		l.thresholds = Concatenate([]*Node{beta.NodeValue(g), beta.NodeValue(g)}, -1)
	case ClassSpecific:
		spatial := l.drive.values.Shape().Dimensions[l.drive.batchAxes():]
		thresholds := classThresholdsVariable(scope, dtype, append([]int{classes}, spatial...))
		learn(scope, thresholds, g, l.read.unit*model.GetParamOr(scope, ParamClassStep, 1.0), true)
		l.thresholds = InsertAxes(thresholds.NodeValue(g), 0)
	}
}

// look computes the drive for the code below as it stands.
func (l *level) look(below code) {
	l.pooled, l.read = l.path.up(below)
	l.drive = l.read
	l.drive.values = l.read.unflat(l.block.Drive(l.path.kernels, l.read.flat(), l.dictionary, l.offset))
	if !l.block.Coding.Rectified {
		l.drive.values = l.path.kernels.Split(l.drive.values)
	}
}

// update sets the code to the block's optimum for its drive, shifted by r from the block above (nil for none).
func (l *level) update(r *Node) {
	l.code = l.drive
	l.code.local = l.block.Coding.Local
	// Hypotheses come in with class thresholds, or from above, where they came in before.
	if l.drive.classes == 0 {
		switch {
		case l.block.Coding.Thresholds == ClassSpecific:
			l.code.classes = l.thresholds.Shape().Dim(1)
		case r != nil && r.Rank() > l.drive.values.Rank():
			l.code.classes = r.Shape().Dim(1)
		}
	}
	drive := l.driveOfCode()
	if r != nil {
		drive = Add(drive, r)
	}
	if l.thresholds == nil {
		l.code.values = rectify(drive)
	} else {
		l.code.values = ShrinkSplit(drive, l.spread(drive))
	}
	if l.block.Coding.Spherical {
		l.code.values, l.norm = normalize(l.path.kernels, l.code.values, l.code.sphereAxes())
		l.code.unit = l.code.entryUnit()
	}
}

// spread gives the thresholds as many axes as the drive, in front of theirs.
func (l *level) spread(drive *Node) *Node {
	if l.thresholds.IsScalar() {
		return l.thresholds
	}
	return ExpandLeftToRank(l.thresholds, drive.Rank())
}

// closedForm is the energy at the block's own optimum [N] or [N, Y], by Appendix B: the norm, or the sum of the norms at all
// positions; nil where the block is not spherical.
func (l *level) closedForm() *Node {
	if l.norm == nil || !l.block.Coding.Local {
		return l.norm
	}
	return ReduceSum(l.norm, -2, -1)
}

// driveOfCode is the drive, with a hypothesis axis where the code has one.
func (l *level) driveOfCode() *Node {
	if l.code.classes > 0 {
		return l.drive.hypotheses()
	}
	return l.drive.values
}

// topDown is r = d * (z⁺ − z⁻) of this block, shaped as the code below: what a change of that code changes this block's
// energy by, [N, (Y), H, W, C].
func (l *level) topDown(below code) *Node { return l.descend(l.code, below).values }

// descend carries a signal shaped as this block's code to where the code below is: d * (z⁺ − z⁻), and down the path.
func (l *level) descend(signal, below code) code {
	spatial := l.read.values.Shape().Dimensions[l.read.batchAxes():]
	if !l.block.Coding.Rectified {
		signal.values = Signed(signal.values)
	}
	signal.values = signal.unflat(l.path.kernels.Transpose(signal.flat(), l.dictionary, l.block.Stride, l.block.Padding, spatial[0], spatial[1]))
	return l.path.down(signal, below)
}

// path is what lies between a code and the block that reads it: the difference of its halves, if it is signed, pools and, in
// training, dropout.
type path struct {
	kernels ops.Kernels
	signed  bool
	pools   []Pool
	dropout *dropout
}

// channels is how many channels the block above reads of a code.
func (p path) channels(below code) int {
	channels := below.values.Shape().Dim(-1)
	if p.signed {
		channels /= 2
	}
	return channels
}

// up takes a code to the block above. pooled are the codes behind each pool.
func (p path) up(below code) (pooled []code, above code) {
	if p.signed {
		below.values = Signed(below.values)
	}
	for _, pool := range p.pools {
		below = pool.apply(p.kernels, below)
		pooled = append(pooled, below)
	}
	return pooled, p.dropout.apply(below)
}

// down is the adjoint of up: it takes what arrives from the block above to where the code below is. Max pools hand
// it to the places that hold the largest values of that code.
func (p path) down(r, below code) code {
	r = p.dropout.apply(r)
	if p.signed {
		below.values = Signed(below.values)
	}
	r = p.unpool(r, below)
	if p.signed {
		r.values = p.kernels.Split(r.values)
	}
	return r
}

// unpool is the adjoint of the pools at a code.
func (p path) unpool(r, below code) code {
	if len(p.pools) == 0 {
		return r
	}
	if below.classes == 0 && r.classes > 0 {
		below.values, below.classes = below.hypotheses(), r.classes
		dims := slices.Clone(below.values.Shape().Dimensions)
		dims[1] = r.classes
		below.values = BroadcastToDims(below.values, dims...)
	}
	below.values = Identity(StopGradient(below.values)) // gradients do not reach a stopped node itself
	_, above := path{pools: p.pools}.up(below)          // GoMLX's own pools have no second derivative
	r.values = Gradient(ReduceAllSum(Mul(above.values, r.values)), below.values)[0]
	return r
}

// apply pools a code.
func (p Pool) apply(kernels ops.Kernels, below code) code {
	pool := kernels.MaxPool
	if p.Average {
		pool = kernels.AvgPool
	}
	above := below
	above.values = below.unflat(pool(below.flat(), p.Window, p.Stride, p.Padding))
	if below.unit != 1 {
		above.unit = above.entryUnit()
	}
	return above
}

// dropout sets entries to zero in training and scales the others so that the mean stays. One mask serves all hypotheses
// of an image (with masks of their own, the noise would look like evidence for a class), all sweeps, and both
// directions: it thins the coupling between two blocks, and the joint energy stays one.
type dropout struct {
	key  *Node
	rate float64
}

// newDropout draws a mask, nil where nothing is dropped.
func newDropout(scope *model.Scope, g *Graph) *dropout {
	rate := model.GetParamOr(scope, ParamDropout, 0.0)
	if rate <= 0 || !scope.IsTraining(g) {
		return nil
	}
	return &dropout{scope.Store().RandomIntN(g, uint64(1)<<32, shapes.Make(dtypes.Uint32, 2)), rate}
}

// apply drops entries of a code. It is its own adjoint.
func (d *dropout) apply(c code) code {
	if d == nil {
		return c
	}
	var shared []int
	if c.classes > 0 {
		shared = []int{1}
	}
	c.values = ops.Dropout(c.values, d.key, d.rate, shared...)
	return c
}
