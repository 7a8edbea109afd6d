package decode

import (
	"context"
	"errors"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/stat"

	"ebsscgo/internal/record"
)

// Measure decodes preprocessed images [N, H, W, C], N ≥ 2, from every block, the lowest first, and
// returns means over the images. The control of an image, see [record.Similarity], has the code of
// the image that follows it in a batch. So Measure returns an error for one image, or for batches
// of one. If ctx ends, it returns its cause.
func (m *Model) Measure(ctx context.Context, images *tensors.Tensor) (levels []record.BlockMeasures,
	err error) {
	if images.Shape().Dim(0) < 2 || m.Batch == 1 {
		return nil, errors.New("measuring decodings takes two images in a batch: " +
			"an image's control is the code of another one")
	}
	measured, err := m.run(ctx, images, (*outputs[byImage]).measures)
	for i, v := range measured {
		levels = append(levels, record.BlockMeasures{
			Block:  m.Network.Blocks()[i].Name,
			Linear: means(v.linearSimilarity), Rectified: means(v.rectifiedSimilarity),
			Difference: mean(v.difference), InkShare: mean(v.inkShare), InkArea: mean(v.inkArea),
			BiasSpread: mean(v.biasSpread),
		})
	}
	return levels, err
}

// means returns the means over images.
func means(s similarity[byImage]) record.Similarity {
	return record.Similarity{
		Cosine: *mean(s.own[0]), ImageCosine: mean(s.own[1]),
		Control: *mean(s.control[0]), ImageControl: mean(s.control[1]),
	}
}

// mean returns the mean of a measure over images; nil where the block has no such measure.
func mean(values byImage) *float64 {
	if values == nil {
		return nil
	}
	// no measure is beyond ±1 but by rounding
	return new(max(-1, min(1, stat.Mean(slices.Concat(values...), nil))))
}

// outputs are what the program computes of a block: nodes of its graph, or values of all images.
// What a block lacks is the zero value.
type outputs[T any] struct {
	// Pictures [N, H, W, C], see [BlockPictures]; of the hypotheses [N, Y, H, W, C].
	linear, rectified, features, biases T
	// Measures [N], see [record.BlockMeasures].
	linearSimilarity, rectifiedSimilarity     similarity[T]
	difference, inkShare, inkArea, biasSpread T
}

// similarity compares images with their own reconstructions and with the control's, each in the
// space of the network's input and in that of images, see [record.Similarity].
type similarity[T any] struct{ own, control [2]T }

func (s *similarity[T]) fields() []*T {
	return []*T{&s.own[0], &s.own[1], &s.control[0], &s.control[1]}
}

// pictures lists the pictures.
func (o *outputs[T]) pictures() []*T {
	return []*T{&o.linear, &o.rectified, &o.features, &o.biases}
}

// measures lists the measures.
func (o *outputs[T]) measures() []*T {
	return slices.Concat(o.linearSimilarity.fields(), o.rectifiedSimilarity.fields(),
		[]*T{&o.difference, &o.inkShare, &o.inkArea, &o.biasSpread})
}

// fields lists all outputs, in the program's order.
func (o *outputs[T]) fields() []*T {
	return append(o.pictures(), o.measures()...)
}

// graph decodes images [N, H, W, C], measures the decodings, and returns what blocks have of these
// outputs. Unwhiten [D, D] is the second input if the model has it.
//
// One program computes pictures and measures: two round measures otherwise, and take twice as long
// to compile.
func (m *Model) graph(scope *model.Scope, inputs []*Node) (nodes []*Node) {
	images := inputs[0]
	decoded := m.Network.Decode(scope, m.Hyper, images)
	reconstructed := m.Network.Reconstruct(scope.Store().RootScope().ResetVisited(), m.Hyper, images)
	var pictures []*Node
	for _, r := range reconstructed {
		pictures = append(pictures, r.Linear, r.LinearControl, r.Rectified, r.RectifiedControl)
	}
	cosines := compare(inputs, pictures)
	m.nodes = nil
	for i, r := range reconstructed {
		o := outputs[*Node]{linear: r.Linear, rectified: r.Rectified,
			features: decoded.Features[i], biases: decoded.Biases[i]}
		o.linearSimilarity = similarity[*Node]{cosines[4*i], cosines[4*i+1]}
		o.rectifiedSimilarity = similarity[*Node]{cosines[4*i+2], cosines[4*i+3]}
		if f := o.features; f.Rank() > images.Rank() { // one for each hypothesis
			deviations := Square(Sub(f, ReduceAndKeep(f, ReduceMean, 1)))
			o.difference = ratio(sumOfImage(deviations), sumOfImage(Square(f)))
			if m.Ink {
				ink := ConvertDType(IsPositive(images), images.DType())
				o.inkShare = ratio(sumOfImage(Mul(deviations, InsertAxes(ink, 1))), sumOfImage(deviations))
				o.inkArea = ReduceMean(ink, 1, 2, 3)
			}
		}
		if o.biases != nil {
			o.biasSpread = spread(o.biases)
		}
		m.nodes = append(m.nodes, o)
		for _, node := range o.fields() {
			if *node != nil {
				nodes = append(nodes, *node)
			}
		}
	}
	return nodes
}

// compare compares images, the first of a program's inputs, with pictures that were decoded for
// them, each [N, H, W, C], and returns a pair of cosines [N] for each. The second of a pair is in
// the space of images, if there is a second input, which unwhitens.
//
// All pictures are compared in one stack: XLA compiles dozens of kernels for a sum over an image.
func compare(inputs, pictures []*Node) [][2]*Node {
	images, stack := inputs[0], Concatenate(pictures, 0)
	count, pairs := images.Shape().Dim(0), make([][2]*Node, len(pictures))
	for space := range inputs {
		vectors := func(x *Node) *Node {
			x = Reshape(x, x.Shape().Dim(0), -1)
			if space == 1 {
				x = MatMul(x, inputs[1])
			}
			return Reshape(x, -1, count, x.Shape().Dim(1))
		}
		all := cosine(vectors(images), vectors(stack))
		for i := range pairs {
			pairs[i][space] = Squeeze(SliceAxis(all, 0, AxisElem(i)), 0)
		}
	}
	return pairs
}

// spread returns the spread of class biases [N, Y, H, W, C] over the image, see
// [experiments.BiasSpread], as means over the hypotheses [N]. A bias that is the hypotheses' mean
// everywhere counts 0.
func spread(biases *Node) *Node {
	p := ReduceSum(Square(Sub(biases, ReduceAndKeep(biases, ReduceMean, 1))), -1)
	// in units of the largest: squares of small numbers vanish in float32
	p = ratio(p, ReduceAndKeep(p, ReduceMax, 2, 3))
	return ReduceMean(ratio(Square(ReduceMean(p, 2, 3)), ReduceMean(Square(p), 2, 3)), 1)
}

// cosine returns the cosines of the angles between vectors [1, N, D] and [M, N, D], as [M, N]; 0 if
// one of the two is zero.
func cosine(a, b *Node) *Node {
	inner := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), -1) }
	return ratio(inner(a, b), Sqrt(Mul(inner(a, a), inner(b, b))))
}

// sumOfImage sums all values of each image [N, Y, H, W, C].
func sumOfImage(x *Node) *Node { return ReduceSum(x, 1, 2, 3, 4) }

// ratio returns a / b where a is 0 wherever b is 0; there it returns 0. b broadcasts to a.
func ratio(a, b *Node) *Node { return Div(a, Where(IsZero(b), OnesLike(b), b)) }
