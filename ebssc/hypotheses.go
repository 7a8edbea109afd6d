package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc/internal/ops"
)

// energy returns the energies [N, Y] of the class hypotheses.
//
// The codes of all hypotheses take memory in proportion to the number of classes, and more than a cache holds. Hypotheses are
// independent, so they are inferred in chunks and rematerialised in the backward pass, see [ops.Remat].
func (n Network) energy(scope *model.Scope, s *stack, pass Pass) *Node {
	chunk := model.GetParamOr(scope, ParamHypotheses, 0)
	if chunk == 0 {
		shape := s.image.values.Shape()
		chunk = n.hypothesesPerChunk(shape.Dim(0), shape.DType.Size())
	}
	if chunk >= n.Classes {
		return n.Classifier.energy(pass.Energies)
	}
	first := 0 // with sweeps a block's codes depend on the hypothesis from the first update with one above it on
	if n.Sweeps == 0 {
		for s.levels[first].code.classes == 0 {
			first++
		}
	}
	shared, split := s.operands(first)
	return ops.Remat(shared, split, 1, chunk, func(shared, split []*Node) *Node {
		few := s.bottomUpFrom(first, shared, split)
		few.ascend(n.Sweeps)
		pass, _ := n.collect(few)
		return n.Classifier.energy(pass.Energies)
	})
}

// maxCodeBytes bounds the largest code of a chunk of hypotheses if ParamHypotheses is 0. A training step holds about ten
// times as much. All hypotheses of the declared rows fit into one chunk, also at the paper's scale: with several chunks a step
// takes a third to a half longer, and compiling takes longer, too.
const maxCodeBytes = 1 << 30

// hypothesesPerChunk is the default number of hypotheses in a chunk, for a batch of images with entryBytes bytes an entry.
func (n Network) hypothesesPerChunk(batch, entryBytes int) int {
	sizes, err := n.sizes()
	if err != nil {
		panic(err) // the network was not validated
	}
	largest := 1
	for i, layer := range n.Layers {
		above := sizes[i+1]
		if layer.Block != nil && (above.classes > 0 || n.Sweeps > 0) {
			largest = max(largest, batch*above.height*above.width*2*layer.Block.Filters*entryBytes)
		}
	}
	most := max(1, maxCodeBytes/largest)
	chunks := (n.Classes + most - 1) / most
	return (n.Classes + chunks - 1) / chunks
}

// operands returns the inputs of inference from block `first` on: those that the hypotheses share (the code below and the
// shared variables), and those that are split along the hypothesis axis (class thresholds).
func (s *stack) operands(first int) (shared, split []*Node) {
	shared = append(shared, s.below(first).values)
	for _, l := range s.levels[first:] {
		shared = append(shared, l.dictionary, l.offset)
		switch {
		case l.block.Coding.Thresholds == ClassSpecific:
			split = append(split, l.thresholds)
		case l.thresholds != nil:
			shared = append(shared, l.thresholds)
		}
	}
	return shared, split
}

// bottomUpFrom is the bottom-up pass from block `first` on with other operands: those of a chunk of hypotheses.
func (s *stack) bottomUpFrom(first int, shared, split []*Node) *stack {
	next := func(nodes *[]*Node) (node *Node) {
		node, *nodes = (*nodes)[0], (*nodes)[1:]
		return node
	}
	below := s.below(first)
	below.values = next(&shared)
	few := &stack{image: s.image, above: s.above}
	if first == 0 {
		few.image = below
	}
	few.levels = append(few.levels, s.levels[:first]...)
	for _, all := range s.levels[first:] {
		l := &level{block: all.block, path: all.path, dictionary: next(&shared), offset: next(&shared)}
		switch {
		case l.block.Coding.Thresholds == ClassSpecific:
			l.thresholds = next(&split)
		case all.thresholds != nil:
			l.thresholds = next(&shared)
		}
		l.computeDrive(below)
		l.update(nil)
		few.levels, below = append(few.levels, l), l.code
	}
	return few
}
