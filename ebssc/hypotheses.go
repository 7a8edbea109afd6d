package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc/internal/ops"
)

// energy returns the energies [N, Y] of the class hypotheses.
//
// Codes of all hypotheses at once take memory in proportion to the number of classes, and more than a cache holds. Hypotheses
// do not know of one another, so a few are inferred at a time, and anew for their gradients, see ops.InPieces.
func (n Network) energy(scope *model.Scope, s *stack, pass Pass) *Node {
	size := model.GetParamOr(scope, ParamHypotheses, 0)
	if size == 0 {
		shape := s.image.values.Shape()
		size = n.atOnce(shape.Dim(0), shape.DType.Size())
	}
	if size >= n.Classes {
		return n.Classifier.energy(pass.Energies)
	}
	first := 0 // with sweeps every block's codes depend on the hypothesis
	if n.Sweeps == 0 {
		for s.levels[first].code.classes == 0 {
			first++
		}
	}
	shared, split := s.operands(first)
	return ops.InPieces(shared, split, 1, size, func(shared, parts []*Node) *Node {
		some := s.replay(first, shared, parts)
		for range n.Sweeps {
			some.sweep()
		}
		energies, _ := n.read(some)
		return n.Classifier.energy(energies.Energies)
	})
}

// hypothesesBytes is what the largest code of the hypotheses that are inferred at a time takes at most, if it is not said how
// many they are. A training step holds about ten times that. All hypotheses of the declared rows fit, also at the paper's
// scale: inferring them in pieces takes a third to a half longer, and longer to compile.
const hypothesesBytes = 1 << 30

// atOnce is how many hypotheses are inferred at a time, if it is not said, in a batch of images with entries of that many bytes.
func (n Network) atOnce(batch, bytes int) int {
	sizes, err := n.sizes()
	if err != nil {
		panic(err) // the network was not validated
	}
	largest := 1
	for i, layer := range n.Layers {
		at := sizes[i+1]
		if layer.Block != nil && (at.classes > 0 || n.Sweeps > 0) {
			largest = max(largest, batch*at.height*at.width*2*layer.Block.Filters*bytes)
		}
	}
	most := max(1, hypothesesBytes/largest)
	pieces := (n.Classes + most - 1) / most
	return (n.Classes + pieces - 1) / pieces
}

// operands are what the blocks from `first` on are inferred from: the code below them and all variables that the hypotheses
// share, and the thresholds of each hypothesis.
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

// replay is the bottom-up pass from block `first` on with other operands: those of a few hypotheses.
func (s *stack) replay(first int, shared, split []*Node) *stack {
	next := func(nodes *[]*Node) (node *Node) {
		node, *nodes = (*nodes)[0], (*nodes)[1:]
		return node
	}
	at := s.below(first)
	at.values = next(&shared)
	replayed := &stack{image: s.image, above: s.above}
	if first == 0 {
		replayed.image = at
	}
	replayed.levels = append(replayed.levels, s.levels[:first]...)
	for _, old := range s.levels[first:] {
		l := &level{block: old.block, path: old.path, dictionary: next(&shared), offset: next(&shared)}
		switch {
		case l.block.Coding.Thresholds == ClassSpecific:
			l.thresholds = next(&split)
		case old.thresholds != nil:
			l.thresholds = next(&shared)
		}
		l.look(at)
		l.update(nil)
		replayed.levels, at = append(replayed.levels, l), l.code
	}
	return replayed
}
