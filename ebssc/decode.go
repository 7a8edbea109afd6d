package ebssc

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc/internal/ops"
)

// Decoding holds the codes of a network as images, one entry for each block, bottom first (Sec.
// 4.2). Each is a signed image [N, H, W, C] in the units of preprocessed images with an arbitrary
// norm; if the code depends on the hypothesis, one image for each hypothesis, [N, Y, H, W, C].
type Decoding struct {
	// Codes are decoded codes.
	Codes []*Node
	// Features are decoded codes without the thresholds' own contribution: the active entries of a
	// code are z̃ = ±u + r − ŵ, and Features decodes ±u + r there. The hypothesis only selects the
	// active entries.
	Features []*Node
	// Biases are decoded class biases −ŵ_y; nil for blocks without class thresholds. They depend on
	// the image only through the positions of its maxima in max pools.
	Biases []*Node
}

// Reconstruction holds images that are reconstructed from the codes of one block with all
// thresholds zero, β, too (Sec. 4.2 takes the class biases away): signed images [N, H, W, C] in the
// units of preprocessed images with an arbitrary norm.
type Reconstruction struct {
	// Linear is decoded by transposed convolutions and nothing else. Rectified sets the negative
	// entries of each lower code to 0 on the way down: z⁺ and z⁻ are magnitudes, so it stays among
	// valid codes.
	Linear, Rectified *Node
	// LinearControl and RectifiedControl are decoded likewise from the code of another image, the next
	// one of the batch (of the last image: the first one), with the image's own maxima in max pools.
	// They show what an image looks like that is reconstructed from its maxima alone.
	LinearControl, RectifiedControl *Node
}

// Decode infers the codes of images [N, H, W, C] as Forward does and decodes each to the image by
// transposed convolutions, block by block. A max pool passes a value to the position of its
// window's maximum, an average pool to all positions. It panics if the graph cannot be built, as
// Forward does.
func (n Network) Decode(scope *model.Scope, h Hyper, images *Node) (d Decoding) {
	s := n.infer(scope, h, images)
	for i, l := range s.levels {
		d.Codes = append(d.Codes, s.decode(i, l.code, false))
		d.Features = append(d.Features, s.decode(i, l.features(), false))
		var biases *Node
		if l.block.Coding.Thresholds == ClassSpecific {
			thresholds := BroadcastToDims(Neg(l.thresholds), l.code.Shape().Dimensions...)
			biases = s.decode(i, thresholds, false)
		}
		d.Biases = append(d.Biases, biases)
	}
	return d
}

// Reconstruct infers the codes of images [N, H, W, C] with all thresholds zero, so that they do not
// depend on a hypothesis, and decodes each to the image as Decode does, and with rectification.
// Each comes with a control, decoded from the code of the next image. Reconstruct returns an
// element for each block, bottom first. It panics if the graph cannot be built, as Forward does.
func (n Network) Reconstruct(scope *model.Scope, h Hyper, images *Node) (all []Reconstruction) {
	s := n.withoutThresholds().infer(scope, h, images)
	for i, l := range s.levels {
		z := l.code
		next := SliceAxis(Concatenate([]*Node{z, z}, 0), 0, AxisRange(1, 1+z.Shape().Dim(0)))
		// Both codes take the places of two hypotheses, which are decoded with the maxima of one image.
		both := Stack([]*Node{z, next}, 1)
		linear := ops.Unstack(s.decode(i, both, false), 1)
		rectified := ops.Unstack(s.decode(i, both, true), 1)
		for _, image := range slices.Concat(linear, rectified) {
			image.AssertDims(-1, n.Height, n.Width, n.Channels)
		}
		all = append(all, Reconstruction{Linear: linear[0], LinearControl: linear[1],
			Rectified: rectified[0], RectifiedControl: rectified[1]})
	}
	return all
}

// withoutThresholds returns the network with all thresholds zero. It shares n's dictionaries and
// offsets. It has no class scores.
func (n Network) withoutThresholds() Network {
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

// features returns the code with ŵ added to its active entries.
func (l *level) features() *Node {
	if l.thresholds == nil {
		return l.code
	}
	thresholds := BroadcastToDims(l.thresholds, l.code.Shape().Dimensions...)
	if l.norm != nil {
		thresholds = ops.Scale(thresholds, Inverse(MaxScalar(l.norm, 1e-30)))
	}
	return Add(l.code, ops.WherePositive(l.code, thresholds))
}

// decode back-projects a signal shaped as the code of block i (from 0) to the image; rectified, the
// signals shaped as codes on the way are rectified.
func (s *stack) decode(i int, from *Node, rectified bool) *Node {
	for ; i >= 0; i-- {
		from = s.levels[i].backProject(from, s.below(i))
		if rectified && i > 0 {
			from = rectify(from)
		}
	}
	return from
}
