package train

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/gomlx/gomlx/core/tensors"
	mldataset "github.com/gomlx/gomlx/ml/dataset"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
)

// uploaded has the images that a run trains on and those that it tests on, on the device, where
// they stay until finalize.
type uploaded struct {
	train, test labelled
	of          imageKey
}

// labelled holds preprocessed images on the device, and their labels.
type labelled struct {
	*mldataset.InMemoryDataset
	labels []uint16
}

func (u *uploaded) finalize() {
	u.train.FinalizeAll()
	u.test.FinalizeAll()
}

// imageKey is what the images of a run depend on. Runs that agree in it can share them.
type imageKey struct {
	whitened
	Preprocessing       string
	HeldOut, TestImages int
}

// imageKeyOf returns what a run's images depend on.
func imageKeyOf(run experiments.Run) imageKey {
	return imageKey{whitenedOn(run), run.Hyper.Preprocessing, run.HeldOut, run.TestImages}
}

// SameImages reports whether two runs train and test on the same images, preprocessed alike.
func SameImages(a, b experiments.Run) bool { return imageKeyOf(a) == imageKeyOf(b) }

// Tested returns the images of a run's data set that its test error is measured on: test images, or
// the training images that it holds out.
func Tested(set *dataset.Set, run experiments.Run) dataset.Images {
	if count := set.Train.Len(); run.HeldOut > 0 {
		return set.Train.Slice(count-run.HeldOut, count)
	}
	return set.Test.Slice(0, run.TestImages)
}

// images returns the images of a run: those that an earlier run left, or else preprocesses them and
// puts them on the device.
func (r *Runner) images(ctx context.Context, run experiments.Run) (*uploaded, error) {
	if kept := r.Kept.takeImages(run); kept != nil {
		return kept, nil
	}
	whitening, err := r.Whitening(ctx, run)
	if err != nil {
		return nil, err
	}
	onDevice := func(name string, images dataset.Images) (labelled, error) {
		processed, err := Preprocess(r.Backend, run, whitening, images)
		if err != nil {
			return labelled{}, fmt.Errorf("preprocessing the %s images: %w", name, err)
		}
		labels := make([]int32, images.Len())
		for i, label := range images.Labels {
			labels[i] = int32(label)
		}
		column := tensors.FromFlatDataAndDimensions(labels, len(labels), 1)
		set, err := mldataset.InMemoryFromData(r.Backend, name, []any{processed}, []any{column})
		return labelled{set, images.Labels}, err
	}
	all := &uploaded{of: imageKeyOf(run)}
	if all.train, err = onDevice("training", r.Set.Train.Slice(0, run.TrainImages)); err != nil {
		return nil, err
	}
	if all.test, err = onDevice("test", Tested(r.Set, run)); err != nil {
		all.train.FinalizeAll()
	}
	debug.FreeOSMemory() // training needs what reading and preprocessing took
	return all, err
}
