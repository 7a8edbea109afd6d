package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
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
	codes, features, biases := s.perLevel(), s.perLevel(), s.perLevel()
	for i, l := range s.levels {
		codes[i], features[i] = l.code.values, l.features()
		if l.block.Coding.Thresholds == ClassSpecific {
			biases[i] = BroadcastToDims(Neg(l.thresholds), l.code.values.Shape().Dimensions...)
		}
	}
	return Decoding{Codes: s.decode(codes, false), Features: s.decode(features, false),
		Biases: s.decode(biases, false)}
}

// Reconstruct infers the codes of images [N, H, W, C] with all thresholds zero, so that they do not
// depend on a hypothesis, and decodes each to the image as Decode does, and with rectification.
// Each comes with a control, decoded from the code of the next image. Reconstruct returns an
// element for each block, bottom first. It panics if the graph cannot be built, as Forward does.
func (n Network) Reconstruct(scope *model.Scope, h Hyper, images *Node) (all []Reconstruction) {
	s := n.withoutThresholds().infer(scope, h, images)
	both := s.perLevel()
	for i, l := range s.levels {
		z := l.code.values
		next := SliceAxis(Concatenate([]*Node{z, z}, 0), 0, AxisRange(1, 1+z.Shape().Dim(0)))
		// Both codes take the places of two hypotheses, which are decoded with the maxima of one image.
		both[i] = Stack([]*Node{z, next}, 1)
	}
	linear, rectified := s.decode(both, false), s.decode(both, true)
	for i := range s.levels {
		own := func(of []*Node, control int) *Node {
			image := Squeeze(SliceAxis(of[i], 1, AxisElem(control)), 1)
			image.AssertDims(-1, n.Height, n.Width, n.Channels)
			return image
		}
		all = append(all, Reconstruction{
			Linear: own(linear, 0), LinearControl: own(linear, 1),
			Rectified: own(rectified, 0), RectifiedControl: own(rectified, 1)})
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
	z := l.code.values
	if l.thresholds == nil {
		return z
	}
	thresholds := BroadcastToDims(l.thresholds, z.Shape().Dimensions...)
	if l.norm != nil {
		thresholds = l.path.impl.Scale(thresholds, Inverse(MaxScalar(l.norm, 1e-30)))
	}
	return Add(z, Where(IsPositive(z), thresholds, ZerosLike(z)))
}

// perLevel returns room for a value of each block.
func (s *stack) perLevel() []*Node { return make([]*Node, len(s.levels)) }

// decode back-projects values shaped as the codes of blocks, one of each block, bottom first, to
// the image; nil stays nil. Rectified, signals shaped as codes are rectified on the way.
//
// What comes from several blocks is stacked along the batch axis on its way down, those of
// hypotheses apart. With one back-projection a block, not one for each pair of blocks, XLA compiles
// half as many kernels.
func (s *stack) decode(values []*Node, rectified bool) []*Node {
	decoded := s.perLevel()
	for _, batchAxes := range []int{1, 2} {
		var from signal
		var blocks []int // that it comes from
		for i := len(values) - 1; i >= 0; i-- {
			if v := values[i]; v != nil && (signal{values: v}).batchAxes() == batchAxes {
				blocks = append(blocks, i)
				if from.values != nil {
					v = Concatenate([]*Node{from.values, v}, 0)
				}
				from.values = v
			}
			if from.values == nil {
				continue
			}
			from = s.levels[i].backProject(from, s.below(i))
			if rectified && i > 0 {
				from.values = rectify(from.values)
			}
		}
		for place, block := range blocks {
			images := from.values.Shape().Dim(0) / len(blocks)
			decoded[block] = SliceAxis(from.values, 0, AxisRange(place*images, (place+1)*images))
		}
	}
	return decoded
}
