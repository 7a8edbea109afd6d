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
	"ebsscgo/internal/record"
)

// Runner executes runs on a backend and a data set. Several runs may execute at a time. Several goroutines write to Log, of one run, too.
type Runner struct {
	// Backend that computes.
	Backend compute.Backend
	// Set holds the images as bytes.
	Set *dataset.Set
	// Log takes a line an epoch. Terminal says that it is a terminal, which shows a progress bar instead.
	Log      io.Writer
	Terminal bool
	// OnEpoch, if not nil, gets a run's learning curve after each of its epochs.
	OnEpoch func(run experiments.Run, curve []record.Epoch)
	// Places of runs in a longer session, by their IDs, for messages.
	Places map[string]Place
	// Origin is what the records say of this process.
	Origin record.Origin

	// prepared images on the device; the runs of a study share them.
	prepared map[preparation]*prepared
	mutex    sync.Mutex // of prepared
}

// On returns a runner of the same runs on another backend, which computes on so many cores.
func (r *Runner) On(backend compute.Backend, cores int) *Runner {
	origin := r.Origin
	origin.Cores = cores
	return &Runner{Backend: backend, Set: r.Set, Log: r.Log, Terminal: r.Terminal, OnEpoch: r.OnEpoch, Places: r.Places, Origin: origin}
}

// Place is a run's place among the runs of a session.
type Place struct {
	// Name in messages, such as "run 2 of 5, CReLU+LC₇, seed 1".
	Name string
	// Later is the work of the runs after it, in units of the run's own work.
	Later float64
}

// Dataset describes the data set to experiments.Plan.
func (r *Runner) Dataset() experiments.Dataset {
	return experiments.Dataset{Name: r.Set.Name, SHA256: r.Set.SHA256, Train: r.Set.Train.Len(), Test: r.Set.Test.Len()}
}

// preparation identifies prepared images.
type preparation struct {
	train, test, heldOut int
	whiten               bool
	epsilon              float64
}

// prepared holds preprocessed images on the device, and the number of runs that use them.
type prepared struct {
	train, test             *mldataset.InMemoryDataset
	trainLabels, testLabels []uint8
	users                   int
}

// acquireImages reuses or uploads the run's images, and evicts images that no run uses. They stay on the device until release.
func (r *Runner) acquireImages(ctx context.Context, run experiments.Run) (p *prepared, release func(), err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	epsilon, _ := run.Settings.Number(experiments.ParamZCAEpsilon)
	key := preparation{run.TrainImages, run.TestImages, run.HeldOut, run.Whitens(), epsilon}
	p, ok := r.prepared[key]
	if !ok {
		for other, idle := range r.prepared {
			if idle.users == 0 {
				idle.train.FinalizeAll()
				idle.test.FinalizeAll()
				delete(r.prepared, other)
			}
		}
		if p, err = r.prepare(ctx, run); err != nil {
			return nil, nil, err
		}
		if r.prepared == nil {
			r.prepared = map[preparation]*prepared{}
		}
		r.prepared[key] = p
	}
	p.users++
	return p, func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		p.users--
	}, nil
}

// prepare uploads images. The whitening is fitted on exactly the images that the run trains on.
func (r *Runner) prepare(ctx context.Context, run experiments.Run) (*prepared, error) {
	train := r.Set.Train.Slice(0, run.TrainImages)
	var test dataset.Images
	if all := r.Set.Train.Len(); run.HeldOut > 0 {
		test = r.Set.Train.Slice(all-run.HeldOut, all)
	} else {
		test = r.Set.Test.Slice(0, run.TestImages)
	}
	preprocess, err := r.preprocessing(ctx, run)
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
		return mldataset.InMemoryFromData(r.Backend, name, []any{processed},
			[]any{tensors.FromFlatDataAndDimensions(labels, len(labels), 1)})
	}
	p := &prepared{trainLabels: train.Labels, testLabels: test.Labels}
	if p.train, err = onDevice("training", train); err != nil {
		return nil, err
	}
	if p.test, err = onDevice("test", test); err != nil {
		p.train.FinalizeAll()
		return nil, err
	}
	return p, nil
}

// preprocessing returns the function that whitens images, fitted on exactly the images that the run trains on, or scales them.
func (r *Runner) preprocessing(ctx context.Context, run experiments.Run) (func(dataset.Images) (*tensors.Tensor, error), error) {
	train := r.Set.Train.Slice(0, run.TrainImages)
	if !run.Whitens() {
		return func(images dataset.Images) (*tensors.Tensor, error) { return images.Tensor(), nil }, nil
	}
	fmt.Fprintf(r.Log, "whitening %d images (fitting takes up to a minute, once)\n", train.Len())
	epsilon, _ := run.Settings.Number(experiments.ParamZCAEpsilon)
	whitening, err := dataset.Fit(ctx, r.Backend, train, epsilon)
	if err != nil {
		return nil, fmt.Errorf("whitening the training images: %w", err)
	}
	return func(images dataset.Images) (*tensors.Tensor, error) { return whitening.Apply(r.Backend, images) }, nil
}
