package train

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	mldataset "github.com/gomlx/gomlx/ml/dataset"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
)

// Lab is where runs are carried out: a backend, a data set and somewhere to report to. Several runs may be carried out in it
// at a time, if Log can be written to by all.
type Lab struct {
	// Backend that computes.
	Backend compute.Backend
	// Set is the data set as it came, in bytes.
	Set *dataset.Set
	// Log takes a line an epoch. Terminal says that it is one, and shows a progress bar instead.
	Log      io.Writer
	Terminal bool
	// Commit of the program, recorded with each result.
	Commit string

	// prepared are images that runs use or have used; the runs of a study share them.
	prepared map[preparation]*prepared
	mutex    sync.Mutex // of prepared
}

// Dataset describes the lab's data set to experiments.Plan.
func (l *Lab) Dataset() experiments.Dataset {
	return experiments.Dataset{Name: l.Set.Name, SHA256: l.Set.SHA256, Train: l.Set.Train.Len(), Test: l.Set.Test.Len()}
}

// preparation is what decides the prepared images.
type preparation struct {
	train, test, heldOut int
	whiten               bool
}

// prepared are preprocessed images on the device, and how many runs use them.
type prepared struct {
	train, test             *mldataset.InMemoryDataset
	trainLabels, testLabels []uint8
	users                   int
}

// borrow puts the run's images on the device, if they are not there, until release is called. Those that no run uses make
// room for others.
func (l *Lab) borrow(ctx context.Context, run experiments.Run) (p *prepared, release func(), err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	whiten, _ := run.Settings[experiments.ParamWhiten].(bool)
	key := preparation{run.TrainImages, run.TestImages, run.HeldOut, whiten}
	p, ok := l.prepared[key]
	if !ok {
		for other, idle := range l.prepared {
			if idle.users == 0 {
				idle.train.FinalizeAll()
				idle.test.FinalizeAll()
				delete(l.prepared, other)
			}
		}
		if p, err = l.prepare(ctx, run, whiten); err != nil {
			return nil, nil, err
		}
		if l.prepared == nil {
			l.prepared = map[preparation]*prepared{}
		}
		l.prepared[key] = p
	}
	p.users++
	return p, func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		p.users--
	}, nil
}

// prepare puts images on the device. A whitening is fitted on exactly the images that the run trains on.
func (l *Lab) prepare(ctx context.Context, run experiments.Run, whiten bool) (*prepared, error) {
	train := l.Set.Train.Slice(0, run.TrainImages)
	var test dataset.Images
	if all := l.Set.Train.Len(); run.HeldOut > 0 {
		test = l.Set.Train.Slice(all-run.HeldOut, all)
	} else {
		test = l.Set.Test.Slice(0, run.TestImages)
	}
	preprocess, err := l.preprocessing(ctx, train, whiten)
	if err != nil {
		return nil, err
	}
	onDevice := func(name string, images dataset.Images) (*mldataset.InMemoryDataset, error) {
		processed, err := preprocess(images)
		if err != nil {
			return nil, fmt.Errorf("preprocessing the %s images: %w", name, err)
		}
		labels := make([]int32, images.Len())
		for i, label := range images.Labels {
			labels[i] = int32(label)
		}
		return mldataset.InMemoryFromData(l.Backend, name, []any{processed},
			[]any{tensors.FromFlatDataAndDimensions(labels, len(labels), 1)})
	}
	p := &prepared{trainLabels: train.Labels, testLabels: test.Labels}
	if p.train, err = onDevice("training", train); err != nil {
		return nil, err
	}
	if p.test, err = onDevice("test", test); err != nil {
		return nil, err
	}
	return p, nil
}

// preprocessing is what is done to images before a network sees them, fitted on the training images.
func (l *Lab) preprocessing(ctx context.Context, train dataset.Images, whiten bool) (func(dataset.Images) (*tensors.Tensor, error), error) {
	if !whiten {
		return func(images dataset.Images) (*tensors.Tensor, error) { return images.Tensor(), nil }, nil
	}
	fmt.Fprintf(l.Log, "whitening %d images (fitting takes up to a minute, once)\n", train.Len())
	whitening, err := dataset.Fit(ctx, l.Backend, train)
	if err != nil {
		return nil, fmt.Errorf("whitening the training images: %w", err)
	}
	return func(images dataset.Images) (*tensors.Tensor, error) { return whitening.Apply(l.Backend, images) }, nil
}
