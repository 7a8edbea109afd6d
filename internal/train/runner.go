// Package train trains the runs that package experiments declares, and measures them. It prepares
// images (images.go, whitening.go) and batches (runner.go), takes steps with GoMLX's Trainer and
// Loop (train.go) and optimizers (muon.go), saves a checkpoint every epoch and where it is told to
// stop, and goes on from the last one (files.go). Package pipeline records what it returns.
package train

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand"
	randv2 "math/rand/v2"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"

	"ebsscgo/ebssc"
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
	// Origin is what records say of this process.
	Origin record.Origin
	// Checkpoints is the folder of checkpoints, which has to exist.
	Checkpoints string
	// Log takes messages: a line an epoch, and a line a minute. Terminal says that it is a terminal,
	// which shows a progress bar in place of these lines.
	Log      io.Writer
	Terminal bool
	// OnProgress, if not nil, gets a run's learning curve after each of its epochs and once a second,
	// then with the epoch under way, and the run's pace.
	OnProgress func(run experiments.Run, curve []record.Epoch, pace string)
	// Kept has compiled programs and images on the Backend for later runs. Train needs it.
	Kept *Kept
}

// Place is a run's place among the runs of a session; the zero value is that of a single run.
type Place struct {
	// Name in messages, such as "2/5 CReLU+LC₇ seed 1".
	Name string
	// RemainingWork is the work of the runs after it, in units of the run's own work.
	RemainingWork float64
	// SeedsFollow says that a later run differs from it in the seed alone, ImagesFollow that a later
	// run has the same images, see [SameImages].
	SeedsFollow, ImagesFollow bool
}

// Whitening returns the run's whitening, fitted on exactly the images that it trains on; nil for a
// run that is not whitened.
func (r *Runner) Whitening(ctx context.Context, run experiments.Run) (*dataset.Whitening, error) {
	if run.Hyper.Preprocessing != experiments.ZCA {
		return nil, nil
	}
	images := r.Set.Train.Slice(0, run.TrainImages)
	whitening, err := dataset.Fit(ctx, r.Backend, images, run.Hyper.ZCAEpsilon, r.Log)
	if err != nil {
		return nil, fmt.Errorf("whitening the training images: %w", err)
	}
	return whitening, nil
}

// Preprocess returns images as the network of a run sees them, [N, H, W, C].
func Preprocess(
	backend compute.Backend, run experiments.Run, whitening *dataset.Whitening,
	images dataset.Images,
) (*tensors.Tensor, error) {
	switch run.Hyper.Preprocessing {
	case experiments.Raw:
		return images.Tensor(), nil
	case experiments.GCN:
		return dataset.NormalizeContrast(backend, images)
	}
	return whitening.Apply(backend, images)
}

// classified is how many pictures are scored at a time, at most.
const classified = 50

// Classify returns pictures as the network of a run sees them [N, H, W, C], and its class scores.
// store has the network's variables.
func Classify(
	ctx context.Context, backend compute.Backend, run experiments.Run, store *model.Store,
	whitening *dataset.Whitening, pictures dataset.Images,
) (seen *tensors.Tensor, scores ebssc.Scores, err error) {
	seen, err = Preprocess(backend, run, whitening, pictures)
	if err != nil {
		return nil, nil, err
	}
	evaluator, err := newEvaluator(backend, store, run)
	if err != nil {
		return nil, nil, err
	}
	defer evaluator.Finalize()
	size, flat := pictures.Size(), tensors.MustCopyFlatData[float32](seen)
	for part := range slices.Chunk(flat, classified*size) {
		images := tensors.FromFlatDataAndDimensions(part,
			len(part)/size, pictures.Height, pictures.Width, pictures.Channels)
		some, _, err := score(evaluator, images, min(pictures.Len(), classified))
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, nil, err
		}
		scores = append(scores, some...)
	}
	return seen, scores, nil
}

// trainingBatches yields a run's training batches from its present step onwards, without end. The
// order of the images depends on the run's seed and the epoch alone, so a run that goes on sees
// what it would have seen.
type trainingBatches struct{ *trainingRun }

// Name returns the name of the data set.
func (s trainingBatches) Name() string { return "training" }

// Iter yields images [B, H, W, C] and labels [B, 1].
func (s trainingBatches) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		skip := s.Steps
		for epoch := len(s.Curve); ; epoch++ {
			order := s.run.Stream(experiments.Order, epoch)
			random := rand.New(&stream{*randv2.NewPCG(uint64(order), 0)})
			images := s.train.Copy().WithRand(random).Shuffle().BatchSize(s.run.Hyper.Batch, true)
			for batch, err := range images.TakeN(s.run.StepsPerEpoch()).Iter() {
				if skip > 0 && err == nil {
					skip--
					if err = batch.Finalize(); err == nil {
						continue
					}
				}
				if !yield(batch, err) {
					return
				}
			}
		}
	}
}

// stream makes a generator of math/rand/v2 a source of math/rand, which GoMLX takes. GoMLX draws
// one number from it: the seed of its own shuffle.
type stream struct{ randv2.PCG }

// Int63 returns a random number of 63 bits.
func (s *stream) Int63() int64 { return int64(s.Uint64() >> 1) }

// Seed is part of the interface; nobody calls it.
func (s *stream) Seed(seed int64) { s.PCG.Seed(uint64(seed), 0) }
