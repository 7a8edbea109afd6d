package train

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/experiments"
)

// Paths of two states of random numbers, GoMLX's and that of augmentation. They are apart, so that
// networks with different dropout masks see the same flips and crops.
var (
	dropoutState      = model.JoinPath(model.RootScopePath, model.RNGStateVariableName)
	augmentationState = model.JoinPath(model.RootScopePath, "augmentation", "state")
)

// seedEpoch gives an epoch of a run (from 0) random numbers of its own: for masks of dropout, and
// for augmentation.
func seedEpoch(store *model.Store, run experiments.Run, epoch int) error {
	if err := seed(store, dropoutState, run.Stream(experiments.Dropout, epoch)); err != nil {
		return err
	}
	return seed(store, augmentationState, run.Stream(experiments.Augmentation, epoch))
}

// seed sets the state of random numbers at a path.
func seed(store *model.Store, path string, seed int64) error {
	state, err := RNGStateFromSeed(seed)
	if err != nil {
		return err
	}
	v, err := store.CreateVariable(path, state) // or the one that is there
	if err != nil {
		return err
	}
	return v.SetTrainable(false).SetValuePreservingOld(state)
}

// augment flips each image with probability h.Flip and shifts it by up to h.Crop pixels each way,
// which is a random crop of the image in a border of zeros. In evaluation it returns the images as
// they are. Images are [N, H, W, C].
//
// It selects rows and columns by products with 0/1 matrices, which is faster than a gather.
func augment(scope *model.Scope, h experiments.Hyper, images *Node) *Node {
	g := images.Graph()
	if !scope.IsTraining(g) || h.Crop == 0 && h.Flip == 0 {
		return images
	}
	dims := images.Shape().Dimensions
	count, height, width := dims[0], dims[1], dims[2]
	random := scope.Store().GetVariable(augmentationState)
	uniform := func() *Node {
		state, values := RandomUniform(random.NodeValue(g), shapes.Make(dtypes.Float32, count, 1, 1))
		random.SetNodeValue(state)
		return values
	}
	shift := func() *Node {
		steps := Floor(MulScalar(uniform(), float64(2*h.Crop+1)))
		return AddScalar(steps, float64(-h.Crop))
	}
	flipped := LessThan(uniform(), Scalar(g, dtypes.Float32, h.Flip))
	position := func(size int) *Node { // of output pixels
		return Iota(g, shapes.Make(dtypes.Float32, count, size, 1), 1)
	}
	rows := selection(Add(position(height), shift()), height, images.DType())
	columns := Add(position(width), shift())
	columns = Where(BroadcastToDims(flipped, count, width, 1),
		AddScalar(Neg(columns), float64(width-1)), columns)
	images = Einsum("nih,nhwc->niwc", rows, images)
	return Einsum("njw,niwc->nijc", selection(columns, width, images.DType()), images)
}

// selection returns matrices [N, size, size] with a 1 where the output pixel (axis 1) takes the
// input pixel (axis 2) that source [N, size, 1] names, and a row of zeros where source lies outside
// of the image.
func selection(source *Node, size int, dtype dtypes.DType) *Node {
	g, count := source.Graph(), source.Shape().Dim(0)
	all := shapes.Make(dtypes.Float32, count, size, size)
	return ConvertDType(Equal(BroadcastToDims(source, all.Dimensions...), Iota(g, all, 2)), dtype)
}
