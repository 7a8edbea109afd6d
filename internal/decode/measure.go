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

// Names of outputs, behind that of their block: pictures, and measures of them.
const (
	linear, rectified, features, biases       = "linear", "rectified", "features", "biases"
	difference, biasSpread, inkShare, inkArea = "difference", "bias spread", "ink share", "ink area"
	cosineOf, controlOf, imageSpace           = "cosine ", "control ", "image-space "
)

// Measure decodes preprocessed images [N, H, W, C], N ≥ 2, from every block, the lowest first, and returns means over the images.
// The control of an image, see [record.Similarity], has the code of the image that follows it in a batch. So Measure returns an error for one
// image, or for batches of one. If ctx ends, it returns its cause.
func (m *Model) Measure(ctx context.Context, images *tensors.Tensor) (levels []record.BlockMeasures, err error) {
	if images.Shape().Dim(0) < 2 || m.Batch == 1 {
		return nil, errors.New("measuring decodings takes two images in a batch: an image's control is the code of another one")
	}
	all, err := m.run(ctx, images, false)
	if err != nil {
		return nil, err
	}
	for _, layer := range m.Network.Blocks() {
		mean := func(name string) *float64 {
			values := slices.Concat(all[layer.Name+" "+name]...)
			if values == nil {
				return nil
			}
			return new(max(-1, min(1, stat.Mean(values, nil)))) // no measure is beyond ±1 but by rounding
		}
		reconstruction := func(decoder string) record.Similarity {
			return record.Similarity{
				Cosine: *mean(cosineOf + decoder), ImageCosine: mean(imageSpace + cosineOf + decoder),
				Control: *mean(controlOf + decoder), ImageControl: mean(imageSpace + controlOf + decoder),
			}
		}
		levels = append(levels, record.BlockMeasures{
			Block: layer.Name, Linear: reconstruction(linear), Rectified: reconstruction(rectified),
			Difference: mean(difference), InkShare: mean(inkShare), InkArea: mean(inkArea), BiasSpread: mean(biasSpread),
		})
	}
	return levels, nil
}

// graph decodes images [N, H, W, C] and measures the decodings. Unwhiten [D, D] is the second input if the model has it. It names the outputs that
// it returns.
func (m *Model) graph(scope *model.Scope, inputs []*Node) (nodes []*Node) {
	images := inputs[0]
	decoded := m.Network.Decode(scope, m.Hyper, images)
	reconstructed := m.Network.Reconstruct(scope.Store().RootScope().ResetVisited(), m.Hyper, images)
	m.outputs = nil
	for i, layer := range m.Network.Blocks() {
		add := func(name string, node *Node) {
			m.outputs, nodes = append(m.outputs, layer.Name+" "+name), append(nodes, node)
		}
		compare := func(name string, picture *Node) {
			add(name, cosine(vectors(images), vectors(picture)))
			if m.Unwhiten != nil {
				add(imageSpace+name, cosine(MatMul(vectors(images), inputs[1]), MatMul(vectors(picture), inputs[1])))
			}
		}
		r := reconstructed[i]
		add(linear, r.Linear)
		add(rectified, r.Rectified)
		compare(cosineOf+linear, r.Linear)
		compare(controlOf+linear, r.LinearControl)
		compare(cosineOf+rectified, r.Rectified)
		compare(controlOf+rectified, r.RectifiedControl)
		add(features, decoded.Features[i])
		if f := decoded.Features[i]; f.Rank() > images.Rank() {
			deviations := Square(Sub(f, ReduceAndKeep(f, ReduceMean, 1)))
			add(difference, ratio(sumOfImage(deviations), sumOfImage(Square(f))))
			if m.Ink {
				ink := ConvertDType(IsPositive(images), images.DType())
				add(inkShare, ratio(sumOfImage(Mul(deviations, InsertAxes(ink, 1))), sumOfImage(deviations)))
				add(inkArea, ReduceMean(ink, 1, 2, 3))
			}
		}
		if b := decoded.Biases[i]; b != nil {
			add(biases, b)
			add(biasSpread, spread(b))
		}
	}
	return nodes
}

// spread returns the spread of class biases [N, Y, H, W, C] over the image, see [experiments.BiasSpread], as means over the hypotheses [N]. A bias
// that is the hypotheses' mean everywhere counts 0.
func spread(biases *Node) *Node {
	p := ReduceSum(Square(Sub(biases, ReduceAndKeep(biases, ReduceMean, 1))), -1)
	p = ratio(p, ReduceAndKeep(p, ReduceMax, 2, 3)) // in units of the largest: squares of small numbers vanish in float32
	return ReduceMean(ratio(Square(ReduceMean(p, 2, 3)), ReduceMean(Square(p), 2, 3)), 1)
}

// vectors returns images [N, H, W, C] as vectors [N, D].
func vectors(images *Node) *Node { return Reshape(images, images.Shape().Dim(0), -1) }

// cosine returns the cosines of the angles between vectors [N, D]; 0 if one of the two is zero.
func cosine(a, b *Node) *Node {
	inner := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 1) }
	return ratio(inner(a, b), Sqrt(Mul(inner(a, a), inner(b, b))))
}

// sumOfImage sums all values of each image [N, Y, H, W, C].
func sumOfImage(x *Node) *Node { return ReduceSum(x, 1, 2, 3, 4) }

// ratio returns a / b where a is 0 wherever b is 0; there it returns 0. b broadcasts to a.
func ratio(a, b *Node) *Node { return Div(a, Where(IsZero(b), OnesLike(b), b)) }
