package train

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/experiments"
)

// augment flips each image with probability ParamFlip and shifts it by up to ParamCrop pixels each way, which is a random
// crop of the image in a border of zeros. Then it cuts a square of ParamCutout pixels a side out of each. In evaluation it returns the
// images as they are. Images are [N, H, W, C].
//
// Flips and shifts are done by selecting rows and columns with 0/1 matrices: there is no gather on the device that is as fast.
func augment(scope *model.Scope, images *Node) *Node {
	g := images.Graph()
	if !scope.IsTraining(g) {
		return images
	}
	dims := images.Shape().Dimensions
	count, height, width := dims[0], dims[1], dims[2]
	crop := model.GetParamOr(scope, experiments.ParamCrop, 0)
	flip := model.GetParamOr(scope, experiments.ParamFlip, 0.0)
	perImage := shapes.Make(dtypes.Float32, count, 1, 1)
	shift := func() *Node {
		steps := Floor(MulScalar(scope.RandomUniform(g, perImage), float64(2*crop+1)))
		return AddScalar(steps, float64(-crop))
	}
	flipped := LessThan(scope.RandomUniform(g, perImage), Scalar(g, dtypes.Float32, flip))

	rows := selection(Add(position(g, count, height), shift()), height, images.DType())
	columns := Add(position(g, count, width), shift())
	columns = Where(BroadcastToDims(flipped, count, width, 1), AddScalar(Neg(columns), float64(width-1)), columns)
	images = Einsum("nih,nhwc->niwc", rows, images)
	images = Einsum("njw,niwc->nijc", selection(columns, width, images.DType()), images)
	if side := model.GetParamOr(scope, experiments.ParamCutout, 0); side > 0 {
		within := func(size int) *Node { // [N, size, 1]: pixels of a stretch whose middle is anywhere in the image
			start := Floor(AddScalar(MulScalar(scope.RandomUniform(g, perImage), float64(size)), -float64(side/2)))
			from := Sub(position(g, count, size), start)
			return And(GreaterOrEqual(from, ZerosLike(from)), LessThan(from, AddScalar(ZerosLike(from), float64(side))))
		}
		cut := And(
			BroadcastToDims(Reshape(within(height), count, height, 1, 1), dims...),
			BroadcastToDims(Reshape(within(width), count, 1, width, 1), dims...))
		images = Where(cut, ZerosLike(images), images)
	}
	return images
}

// position is each output pixel's index [N, size, 1].
func position(g *Graph, count, size int) *Node {
	return Iota(g, shapes.Make(dtypes.Float32, count, size, 1), 1)
}

// selection [N, size, size] has a 1 where the output pixel (axis 1) takes the input pixel (axis 2), at `source` [N, size, 1];
// a row of zeros where the source lies outside of the image.
func selection(source *Node, size int, dtype dtypes.DType) *Node {
	g, count := source.Graph(), source.Shape().Dim(0)
	all := shapes.Make(dtypes.Float32, count, size, size)
	return ConvertDType(Equal(BroadcastToDims(source, all.Dimensions...), Iota(g, all, 2)), dtype)
}
