package training

import (
	"context"
	"fmt"
	"io"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"

	"ebsscgo/experiments"
	"ebsscgo/experiments/data"
)

// Lab is where runs are carried out: a backend, a data set and somewhere to report to.
type Lab struct {
	// Backend that computes.
	Backend compute.Backend
	// Set is the data set as it came, in bytes.
	Set *data.Set
	// Log takes a line an epoch. Terminal says that it is one, and shows a progress bar instead.
	Log      io.Writer
	Terminal bool
	// Commit of the program, recorded with each result.
	Commit string

	// prepared are the whitened images of the last run; the runs of a table share them.
	prepared    *prepared
	preparedFor [3]int
}

// prepared are whitened images on the device.
type prepared struct {
	train, test             *dataset.InMemoryDataset
	trainLabels, testLabels []uint8
}

// prepare whitens the run's images: the whitening is fitted on exactly the images that it trains on.
func (l *Lab) prepare(ctx context.Context, run experiments.Run) (*prepared, error) {
	key := [3]int{run.TrainImages, run.TestImages, run.HeldOut}
	if l.prepared != nil && l.preparedFor == key {
		return l.prepared, nil
	}
	train := l.Set.Train.Slice(0, run.TrainImages)
	test := l.Set.Test.Slice(0, run.TestImages)
	if run.HeldOut > 0 {
		all := l.Set.Train.Len()
		test = l.Set.Train.Slice(all-run.HeldOut, all)
	}
	fmt.Fprintf(l.Log, "whitening %d images (fitting takes up to a minute, once)\n", run.TrainImages)
	whitening, err := data.Fit(ctx, l.Backend, train)
	if err != nil {
		return nil, fmt.Errorf("whitening the training images: %w", err)
	}
	onDevice := func(name string, images data.Images) (*dataset.InMemoryDataset, error) {
		whitened, err := whitening.Apply(l.Backend, images)
		if err != nil {
			return nil, fmt.Errorf("whitening the %s images: %w", name, err)
		}
		labels := make([]int32, images.Len())
		for i, label := range images.Labels {
			labels[i] = int32(label)
		}
		return dataset.InMemoryFromData(l.Backend, name, []any{whitened},
			[]any{tensors.FromFlatDataAndDimensions(labels, len(labels), 1)})
	}
	p := &prepared{trainLabels: train.Labels, testLabels: test.Labels}
	if p.train, err = onDevice("training", train); err != nil {
		return nil, err
	}
	if p.test, err = onDevice("test", test); err != nil {
		return nil, err
	}
	if l.prepared != nil {
		l.prepared.train.FinalizeAll()
		l.prepared.test.FinalizeAll()
	}
	l.prepared, l.preparedFor = p, key
	return p, nil
}
