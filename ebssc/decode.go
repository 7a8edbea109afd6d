package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Decoding holds the codes of a network as images, one entry for each block, bottom first (Sec. 4.2). Each is a signed image
// [N, H, W, C] in the units of preprocessed images with an arbitrary norm; if the code depends on the hypothesis, one image
// for each hypothesis, [N, Y, H, W, C].
type Decoding struct {
	// Codes are decoded codes.
	Codes []*Node
	// Features are decoded codes without the thresholds' own contribution: the active entries of a code are z̃ = ±u − ŵ, and
	// Features decodes ±u there. The hypothesis only selects the active entries.
	Features []*Node
	// Biases are decoded class biases −ŵ_y; nil for blocks without class thresholds. They depend on the image only through
	// the positions of its maxima in max pools.
	Biases []*Node
}

// WithoutThresholds returns the network with all thresholds zero. It shares n's dictionaries and offsets. It has no class
// scores; use it for Decode.
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

// Decode infers the codes of images [N, H, W, C] as Forward does and decodes each to the image by transposed convolutions,
// block by block. A max pool passes a value to the position of its window's maximum, an average pool to all positions.
func (n Network) Decode(scope *model.Scope, images *Node) (d Decoding) {
	s := n.infer(scope, images)
	for i, l := range s.levels {
		kept := l.code
		d.Codes = append(d.Codes, s.decode(i, kept))
		kept.values = l.features()
		d.Features = append(d.Features, s.decode(i, kept))
		if l.block.Coding.Thresholds != ClassSpecific {
			d.Biases = append(d.Biases, nil)
			continue
		}
		kept.values = BroadcastToDims(Neg(l.thresholds), l.code.values.Shape().Dimensions...)
		d.Biases = append(d.Biases, s.decode(i, kept))
	}
	return d
}

// features returns the code with ŵ added to its active entries.
func (l *level) features() *Node {
	z := l.code.values
	if l.thresholds == nil {
		return z
	}
	thresholds := BroadcastToDims(l.expandThresholds(z), z.Shape().Dimensions...)
	if l.norm != nil {
		thresholds = l.path.kernels.Scale(thresholds, Inverse(MaxScalar(l.norm, 1e-30)))
	}
	return Add(z, Where(IsPositive(z), thresholds, ZerosLike(z)))
}

// decode back-projects a signal shaped as the code of block i (from 0) to the image.
func (s *stack) decode(i int, from signal) *Node {
	for ; i >= 0; i-- {
		from = s.levels[i].backProject(from, s.below(i))
	}
	return from.values
}
