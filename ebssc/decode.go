package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Decoding is what the codes of a network look like as images, for each block from the bottom (Sec. 4.2). Each is a signed
// image [N, H, W, C] in the units of preprocessed images, of no particular length; where the code depends on the
// hypothesis, one for each, [N, Y, H, W, C].
type Decoding struct {
	// Codes are decoded codes.
	Codes []*Node
	// Features are decoded codes without the thresholds' own contribution: on the active entries of a code z̃ = ±u − ŵ, and
	// this decodes ±u there. What is left of a hypothesis is the choice of the active entries.
	Features []*Node
	// Biases are decoded class biases −ŵ_y, nil for blocks without class thresholds. They depend on the image only by the
	// places that max pools have taken in it.
	Biases []*Node
}

// WithoutThresholds is the network with all thresholds zero: its codes are those of the features alone, and its variables
// the dictionaries and offsets of n. It has no class scores: it is for Decode.
func (n Network) WithoutThresholds() Network {
	layers := n.Layers
	n.Layers = nil
	for _, layer := range layers {
		if layer.Block != nil {
			block := *layer.Block
			block.Coding.Thresholds = Zero
			layer.Block = &block
		}
		n.Layers = append(n.Layers, layer)
	}
	return n
}

// Decode infers the codes of images [N, H, W, C] as Forward does and carries each down to the image by transposed
// convolutions, block by block. Max pools hand a value to the place that they took theirs from, other pools spread it out.
func (n Network) Decode(scope *model.Scope, images *Node) (d Decoding) {
	s := n.infer(scope, images)
	for i, l := range s.levels {
		signal := l.code
		d.Codes = append(d.Codes, s.decode(i, signal))
		signal.values = l.features()
		d.Features = append(d.Features, s.decode(i, signal))
		if l.block.Coding.Thresholds != ClassSpecific {
			d.Biases = append(d.Biases, nil)
			continue
		}
		signal.values = BroadcastToDims(Neg(l.thresholds), l.code.values.Shape().Dimensions...)
		d.Biases = append(d.Biases, s.decode(i, signal))
	}
	return d
}

// features is the code with ŵ added to its active entries.
func (l *level) features() *Node {
	z := l.code.values
	if l.thresholds == nil {
		return z
	}
	thresholds := BroadcastToDims(l.spread(z), z.Shape().Dimensions...)
	if l.norm != nil {
		thresholds = l.path.kernels.Scale(thresholds, Inverse(MaxScalar(l.norm, 1e-30)))
	}
	return Add(z, Where(IsPositive(z), thresholds, ZerosLike(z)))
}

// decode carries a signal shaped as the code of block i (from 0) down to the image.
func (s *stack) decode(i int, signal code) *Node {
	for ; i >= 0; i-- {
		signal = s.levels[i].descend(signal, s.below(i))
	}
	return signal.values
}
