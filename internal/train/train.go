package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/checkpoint"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/ml/train/optimizer/cosineschedule"
	"github.com/gomlx/gomlx/support/exceptions"
	"github.com/gomlx/gomlx/ui/commandline"

	"ebsscgo/experiments"
)

// Train carries out a run in its folder below `runs` and returns its result. A finished run is not trained again; one
// that was interrupted goes on from its last checkpoint and ends with the same bits. When ctx ends it finishes the step,
// saves a checkpoint and returns ctx's cause.
func (l *Lab) Train(ctx context.Context, run experiments.Run, runs string) (Result, error) {
	id, err := run.ID()
	if err != nil {
		return Result{}, err
	}
	folder := filepath.Join(runs, id)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Result{}, fmt.Errorf("a folder for run %s: %w", id, err)
	}
	unlock, err := lock(folder)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if err := tidy(folder); err != nil {
		return Result{}, err
	}
	switch result, ok, err := Load(folder); {
	case err != nil:
		return Result{}, err
	case ok:
		result.Asked = now()
		return result, result.save(folder)
	}
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	images, release, err := l.borrow(ctx, run)
	if err != nil {
		return Result{}, err
	}
	defer release()
	s := &session{lab: l, ctx: ctx, run: run, id: id, folder: folder, images: images}
	var result Result
	// Graph building panics; here is the one place where that becomes an error.
	panicked := exceptions.TryCatch[error](func() {
		if err = s.train(); err == nil {
			result, err = s.measure()
		}
	})
	if s.evaluator != nil {
		s.evaluator.exec.Finalize()
	}
	if err = errors.Join(panicked, err); err != nil {
		return Result{}, fmt.Errorf("%s: %w", id, err)
	}
	return result, result.save(folder)
}

// session is a run in progress.
type session struct {
	lab     *Lab
	ctx     context.Context
	run     experiments.Run
	id      string
	folder  string
	images  *prepared
	store   *model.Store
	handler *checkpoint.Handler
	curve   []Epoch
	// evaluator measures the model as it stands; made when it is first needed.
	evaluator *evaluator

	// progress of the epoch under way, but for its seconds: these count from began.
	progress
	began time.Time
}

// newStore is an empty model with the run's hyperparameters.
func newStore(run experiments.Run) *model.Store {
	store := model.NewStore()
	store.SetParams(run.Settings)
	store.SetParam(model.ParamInitialSeed, int64(run.Seed))
	store.SetParam(cosineschedule.ParamPeriodSteps, run.Epochs*run.StepsPerEpoch())
	return store
}

// train trains what is left of the run's epochs.
func (s *session) train() error {
	if err := s.restore(); err != nil {
		return err
	}
	s.began = time.Now().Add(-time.Duration(s.Seconds * float64(time.Second)))
	total, steps := s.run.Epochs*s.run.StepsPerEpoch(), s.run.StepsPerEpoch()
	step := int(optimizer.GetGlobalStep(s.store))
	if s.Steps == steps { // stopped while the epoch was being measured
		if err := s.endEpoch(step); err != nil {
			return err
		}
	}
	if step >= total {
		return nil
	}
	loop := s.loop(s.graph)
	loop.OnStep("epoch", 0, s.onStep)
	if s.lab.Terminal {
		fmt.Fprintf(s.lab.Log, "%s: epoch %d of %d\n", s.id, step/steps+1, s.run.Epochs)
		commandline.AttachProgressBar(loop, func() (name, value string) {
			return "Images/s", fmt.Sprintf("%.0f", float64(s.run.Batch())/loop.MedianTrainStepDuration().Seconds())
		})
	}
	batches, err := s.batches(step)
	if err != nil {
		return err
	}
	_, err = loop.RunToGlobalStep(batches, total)
	return err
}

// loop takes steps in training a graph.
func (s *session) loop(graph func(scope *model.Scope, images *Node) *Node) *train.Loop {
	return train.NewLoop(train.NewTrainer(s.lab.Backend, s.store, graph, loss.SparseCategoricalCrossEntropyLogits,
		optimizer.Adam().Done(), []metric.Interface{
			metric.NewBaseMetric("Batch error", "err", "error", errorGraph, nil),
			metric.NewExponentialMovingAverageMetric("Moving Average Error", "~err", "error", errorGraph, nil, 0.01),
		}, nil))
}

// graph is the training graph: images [N, H, W, C] to class scores [N, Y].
func (s *session) graph(scope *model.Scope, images *Node) *Node {
	cosineschedule.New(scope, images.Graph(), images.DType()).FromScope().Done()
	return s.run.Network.Forward(scope, augment(scope, images)).Scores
}

// errorGraph is the share of a batch's images, in percent, whose highest score is not their label's.
func errorGraph(scope *model.Scope, labels, scores []*Node) *Node {
	return MulScalar(OneMinus(metric.SparseCategoricalAccuracyGraph(scope, labels, scores)), 100)
}

// onStep adds the step to its epoch. It saves a checkpoint at the end of an epoch, and where the run is to stop.
func (s *session) onStep(loop *train.Loop, metrics []*tensors.Tensor) (err error) {
	step := loop.LoopStep + 1
	loss := shapes.ConvertTo[float64](metrics[0].Value())
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return s.diverged(fmt.Sprintf("the loss is %f", loss), step)
	}
	s.Steps++
	s.Loss += loss
	s.Err += shapes.ConvertTo[float64](metrics[2].Value())
	stop := context.Cause(s.ctx)
	switch {
	case s.Steps == s.run.StepsPerEpoch():
		err = s.endEpoch(step)
	case stop != nil:
		err = s.pause()
	}
	if err != nil {
		return err
	}
	return stop
}

// diverged is the error of a run whose numbers are none after a step.
func (s *session) diverged(what string, step int) error {
	return fmt.Errorf("%s after step %d, learning rate %v: try a smaller one with --set=%s=…",
		what, step, s.run.Settings[experiments.ParamLearningRate], experiments.ParamLearningRate)
}

// pause saves what there is of an epoch.
func (s *session) pause() error {
	s.Seconds = time.Since(s.began).Seconds()
	return s.save()
}

// endEpoch saves the curve first and the checkpoint then: a curve is cut to its checkpoint, not the other way round.
func (s *session) endEpoch(step int) error {
	steps := float64(s.Steps)
	seconds := time.Since(s.began).Seconds()
	epoch := Epoch{Epoch: step / s.Steps, Step: step, BatchLoss: s.Loss / steps, BatchErr: s.Err / steps, Seconds: seconds}
	if s.run.Traced {
		if err := s.trace(&epoch); err != nil {
			if s.ctx.Err() != nil {
				return errors.Join(s.pause(), err)
			}
			return err
		}
	}
	s.curve = append(s.curve, epoch)
	s.progress = progress{}
	if err := saveCurve(s.folder, s.curve); err != nil {
		return err
	}
	if err := s.save(); err != nil {
		return err
	}
	if !s.lab.Terminal {
		left := time.Duration(seconds * float64(s.run.Epochs-epoch.Epoch) * float64(time.Second))
		fmt.Fprintf(s.lab.Log, "%s: epoch %d/%d: loss %.4f, error %.2f%%, %.0f images/s, %s left\n", s.id, epoch.Epoch, s.run.Epochs,
			epoch.BatchLoss, epoch.BatchErr, steps*float64(s.run.Batch())/seconds, left.Round(time.Second))
	}
	s.began = time.Now()
	return nil
}

// tracedImages is how many training images a traced run is measured on after each epoch.
const tracedImages = 10_000

// trace measures the model after an epoch.
func (s *session) trace(epoch *Epoch) (err error) {
	epoch.Measured = true
	labels := s.images.trainLabels[:min(tracedImages, len(s.images.trainLabels))]
	if epoch.TrainErr, epoch.Objective, _, err = s.evaluate(s.images.train, labels); err != nil {
		return err
	}
	epoch.TestErr, _, _, err = s.evaluate(s.images.test, s.images.testLabels)
	return err
}

// evaluate computes the error rate, the objective and the scores on the first images, those that have labels here.
func (s *session) evaluate(images *dataset.InMemoryDataset, labels []uint8) (errorRate, objective float64, scores Scores, err error) {
	if s.evaluator == nil {
		if s.evaluator, err = newEvaluator(s.lab.Backend, s.store, s.run.Network); err != nil {
			return 0, 0, nil, err
		}
	}
	scores, penalty, err := s.evaluator.scores(s.ctx, images, len(labels))
	if err != nil {
		return 0, 0, nil, err
	}
	return scores.ErrorRate(labels), scores.LogLoss(labels) + penalty, scores, nil
}

// measure evaluates the trained model.
func (s *session) measure() (Result, error) {
	began := time.Now()
	count, err := s.run.Network.Count()
	if err != nil {
		return Result{}, err
	}
	result := Result{Run: s.run, ID: s.id, Parameters: count.Total(), Commit: s.lab.Commit}
	result.TrainErr, result.TrainObjective, _, err = s.evaluate(s.images.train, s.images.trainLabels)
	if err != nil {
		return Result{}, err
	}
	var tested Scores
	result.TestErr, result.TestObjective, tested, err = s.evaluate(s.images.test, s.images.testLabels)
	if err != nil {
		return Result{}, err
	}
	result.Predictions, result.Labels = digits(tested.Predictions()), digits(s.images.testLabels)
	for _, epoch := range s.curve {
		result.Seconds += epoch.Seconds
	}
	result.Seconds += time.Since(began).Seconds()
	result.Finished = now()
	result.Asked = result.Finished
	return result, nil
}

// digits writes classes as text, a digit each.
func digits(classes []uint8) string {
	text := make([]byte, len(classes))
	for i, class := range classes {
		text[i] = '0' + class
	}
	return string(text)
}

// now is the time as results record it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// epochs are the training batches from a step onwards, without end. The order of the images depends on the run's seed
// and the epoch alone, so a run that goes on sees what it would have seen.
type epochs struct {
	images *dataset.InMemoryDataset
	run    experiments.Run
	from   int
}

// Name of the data set.
func (e *epochs) Name() string { return "training" }

// Iter yields batches of images [B, H, W, C] and labels [B, 1].
func (e *epochs) Iter() iter.Seq2[train.Batch, error] {
	return func(yield func(train.Batch, error) bool) {
		steps := e.run.StepsPerEpoch()
		skip := e.from % steps
		for epoch := e.from / steps; ; epoch++ {
			order := rand.New(rand.NewSource(int64(e.run.Seed)<<32 + int64(epoch)))
			for batch, err := range e.images.Copy().WithRand(order).Shuffle().BatchSize(e.run.Batch(), true).Iter() {
				if skip > 0 && err == nil {
					skip--
					if err = finalize(slices.Concat(batch.Inputs, batch.Labels)...); err == nil {
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
