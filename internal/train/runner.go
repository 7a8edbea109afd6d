// Package train carries out the runs that package experiments declares: it prepares the images (runner.go), trains with GoMLX's Trainer and
// Loop (train.go), saves a checkpoint every epoch and where it is told to stop, goes on from the last one, measures, and records.
package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	mldataset "github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
)

// Runner trains runs on a backend and a data set. Several runs may train at a time.
type Runner struct {
	// Backend that computes.
	Backend compute.Backend
	// Set holds the images as bytes.
	Set *dataset.Set
	// Origin is what records say of this process. Its Devices share each training batch.
	Origin record.Origin
	// Checkpoints is the folder of checkpoints; empty for none.
	Checkpoints string
	// Log takes messages about the training's progress, a line an epoch. Terminal says that it is a terminal, which shows a progress bar instead.
	Log      io.Writer
	Terminal bool
	// OnEpoch, if not nil, gets a run's learning curve after each of its epochs.
	OnEpoch func(run experiments.Run, curve []record.Epoch)
	// Places of runs in a longer session, by their IDs, for messages.
	Places map[string]Place

	// prepared images on the device; the runs of a study share them.
	prepared map[string]*prepared
	mutex    sync.Mutex // of prepared
}

// On returns a runner of the same runs on another backend, which computes on so many cores.
func (r *Runner) On(backend compute.Backend, cores int) *Runner {
	origin := r.Origin
	origin.Cores = cores
	return &Runner{Backend: backend, Set: r.Set, Origin: origin, Checkpoints: r.Checkpoints, Log: r.Log, Terminal: r.Terminal, OnEpoch: r.OnEpoch,
		Places: r.Places}
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

// prepared holds preprocessed images on the device, and the number of runs that use them.
type prepared struct {
	train, test             *mldataset.InMemoryDataset
	trainLabels, testLabels []uint8
	users                   int
}

// acquireImages reuses or uploads the run's images, and evicts images that no run uses. They stay on the device until releaseImages.
func (r *Runner) acquireImages(ctx context.Context, run experiments.Run) (p *prepared, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	key := fmt.Sprint(run.TrainImages, run.TestImages, run.HeldOut, run.Hyper.Preprocessing, run.Hyper.ZCAEpsilon)
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
			return nil, err
		}
		if r.prepared == nil {
			r.prepared = map[string]*prepared{}
		}
		r.prepared[key] = p
	}
	p.users++
	return p, nil
}

func (r *Runner) releaseImages(p *prepared) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p.users--
}

// prepare uploads images.
func (r *Runner) prepare(ctx context.Context, run experiments.Run) (*prepared, error) {
	train := r.Set.Train.Slice(0, run.TrainImages)
	var test dataset.Images
	if all := r.Set.Train.Len(); run.HeldOut > 0 {
		test = r.Set.Train.Slice(all-run.HeldOut, all)
	} else {
		test = r.Set.Test.Slice(0, run.TestImages)
	}
	preprocess, _, err := r.preprocessing(ctx, run)
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

// preprocessing returns the run's preprocessing, and the inverse of its whitening [D, D]; nil without whitening. The whitening is fitted on exactly the
// images that the run trains on.
func (r *Runner) preprocessing(ctx context.Context, run experiments.Run) (
	preprocess func(dataset.Images) (*tensors.Tensor, error), inverse *tensors.Tensor, err error) {
	train := r.Set.Train.Slice(0, run.TrainImages)
	switch run.Hyper.Preprocessing {
	case experiments.Raw:
		return func(images dataset.Images) (*tensors.Tensor, error) { return images.Tensor(), nil }, nil, nil
	case experiments.GCN:
		return func(images dataset.Images) (*tensors.Tensor, error) {
			return dataset.NormalizeContrast(r.Backend, images)
		}, nil, nil
	}
	whitening, err := dataset.Fit(ctx, r.Backend, train, run.Hyper.ZCAEpsilon, r.Log)
	if err != nil {
		return nil, nil, fmt.Errorf("whitening the training images: %w", err)
	}
	return func(images dataset.Images) (*tensors.Tensor, error) { return whitening.Apply(r.Backend, images) }, whitening.Inverse(), nil
}

// TestImages returns the first test images of a run, up to count, preprocessed [N, H, W, C], their labels, and the inverse of the whitening [D, D],
// nil without whitening.
func (r *Runner) TestImages(ctx context.Context, run experiments.Run, count int) (images *tensors.Tensor, labels []uint8, inverse *tensors.Tensor, err error) {
	if run.HeldOut > 0 {
		return nil, nil, nil, errors.New("a run on held-out images has no test images")
	}
	preprocess, inverse, err := r.preprocessing(ctx, run)
	if err != nil {
		return nil, nil, nil, err
	}
	test := r.Set.Test.Slice(0, min(count, run.TestImages))
	images, err = preprocess(test)
	return images, test.Labels, inverse, err
}

// Classify computes the class scores of pictures, each preprocessed as the run's images were [1, H, W, C], with a trained network.
func (r *Runner) Classify(ctx context.Context, run experiments.Run, store *model.Store, pictures dataset.Images) (
	images []*tensors.Tensor, scores Scores, err error) {
	preprocess, _, err := r.preprocessing(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	evaluator, err := newEvaluator(r.Backend, store, run)
	if err != nil {
		return nil, nil, err
	}
	defer evaluator.Finalize()
	for i := range pictures.Len() { // one at a time: there may be many
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		image, err := preprocess(pictures.Slice(i, i+1))
		if err != nil {
			return nil, nil, err
		}
		of, _, err := score(evaluator, image)
		if err != nil {
			return nil, nil, err
		}
		images, scores = append(images, image), append(scores, of...)
	}
	return images, scores, nil
}
