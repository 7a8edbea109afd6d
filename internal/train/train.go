package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/ml/train/optimizer/cosineschedule"
	"github.com/gomlx/gomlx/support/exceptions"
	"github.com/gomlx/gomlx/ui/commandline"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/record"
)

// Train trains a run, with its place in a longer session, and measures it. It returns the numbers
// for the record, and the trained model. A run that was interrupted goes on from its last
// checkpoint and ends with the same bits. When ctx ends, Train finishes the step, saves a
// checkpoint and returns ctx's cause.
func (r *Runner) Train(
	ctx context.Context, run experiments.Run, place Place,
) (finished record.Training, store *model.Store, err error) {
	s := &trainingRun{runner: r, ctx: ctx, run: run, place: place,
		progress: progress{ID: run.ID(), Origin: r.Origin}}
	if s.uploaded, err = r.images(ctx, run); err != nil {
		return finished, nil, err
	}
	defer r.Kept.leaveImages(place, s.uploaded)
	if ctx.Err() != nil { // while they were preprocessed; what follows compiles
		return finished, nil, context.Cause(ctx)
	}
	// Graph building panics: here that becomes an error.
	panicked := exceptions.TryCatch[error](func() {
		if err = s.takeSteps(); err == nil {
			finished, err = s.measure()
		}
	})
	if err = errors.Join(panicked, err); err == nil {
		store, err = s.release()
	}
	if err != nil {
		s.program.finalize()
		return finished, nil, fmt.Errorf("%s: %w", s.ID, err)
	}
	return finished, store, nil
}

// trainingRun is a run that is being trained.
type trainingRun struct {
	runner *Runner
	ctx    context.Context
	run    experiments.Run
	place  Place
	*uploaded
	program
	// progress so far, but for the seconds of the epoch under way: these count from began.
	progress
	began time.Time
	// reported is when the run last wrote how far it is; zero before the first step of this process,
	// which compiles.
	reported time.Time
	// shown is when OnProgress was last called.
	shown time.Time
}

// progress is the state of a run beside its variables.
type progress struct {
	// ID of the run.
	ID string `json:"Run"`
	// Curve has the finished epochs.
	Curve []record.Epoch
	// Origin names the programs and computers that trained so far.
	Origin record.Origin
	// epoch that is under way.
	epoch
}

// epoch sums up the epoch under way: its steps so far, their losses and errors, and their seconds.
type epoch struct {
	Steps              int
	Loss, Err, Seconds float64
}

// taken returns the number of steps taken so far, in all epochs.
func (s *trainingRun) taken() int { return len(s.Curve)*s.run.StepsPerEpoch() + s.Steps }

// newStore returns an empty model, seeded for the first epoch of a run, with the parameters that
// GoMLX's optimizers read.
func newStore(run experiments.Run) *model.Store {
	store := model.NewStore()
	store.SetParam(model.ParamInitialSeed, run.Stream(experiments.InitialValues, 0))
	store.SetParam(optimizer.ParamLearningRate, run.Hyper.LearningRate)
	rising := int(run.Hyper.WarmUp * float64(run.Steps()))
	store.SetParam(cosineschedule.ParamWarmUpSteps, rising)
	store.SetParam(cosineschedule.ParamPeriodSteps, run.Steps()-rising)
	return store
}

// takeSteps restores the run from its last checkpoint, if there is one, prepares its programs, and
// takes the steps that are left, if any.
func (s *trainingRun) takeSteps() (err error) {
	if err := s.restore(); err != nil {
		return err
	}
	if err := s.prepare(); err != nil {
		return err
	}
	s.began = time.Now().Add(-time.Duration(s.Seconds * float64(time.Second)))
	if s.Steps == s.run.StepsPerEpoch() { // stopped while the epoch was being measured
		if err := s.endEpoch(); err != nil {
			return err
		}
	}
	if s.taken() >= s.run.Steps() {
		return nil
	}
	if s.trainer == nil { // only now: it deletes the learning rate, which endEpoch's checkpoint needs
		s.trainer = s.newTrainer()
	}
	loop := train.NewLoop(s.trainer)
	var stopped error // what GoMLX wraps in words of its own
	loop.OnStep("epoch", 0, func(loop *train.Loop, metrics []*tensors.Tensor) error {
		stopped = s.onStep(loop, metrics)
		return stopped
	})
	if s.runner.Terminal {
		commandline.AttachProgressBar(loop, func() (name, value string) {
			epoch := min(loop.LoopStep/s.run.StepsPerEpoch()+1, s.run.Epochs)
			speed, left := s.pace(loop, loop.LoopStep)
			// of one width: a narrower box would leave the border of the one before
			return fmt.Sprintf("Epoch %d of %d", epoch, s.run.Epochs), fmt.Sprintf("%-38s", speed+left)
		})
	}
	defer context.AfterFunc(s.ctx, func() { s.say("finishing the step and saving a checkpoint") })()
	_, err = loop.RunToGlobalStep(trainingBatches{s}, s.run.Steps())
	return cmp.Or(stopped, err)
}

// say writes a line to the log, which begins with the run's place or its ID.
func (s *trainingRun) say(format string, values ...any) {
	name := cmp.Or(s.place.Name, s.ID)
	fmt.Fprintf(s.runner.Log, "%s: %s\n", name, fmt.Sprintf(format, values...))
}

// newTrainer returns what takes the run's training steps.
func (s *trainingRun) newTrainer() *train.Trainer {
	batchError := metric.NewBaseMetric("Batch error", "err", "error", errorGraph, nil)
	return train.NewTrainer(s.runner.Backend, s.store, trainingGraph(s.run),
		loss.SparseCategoricalCrossEntropyLogits, newOptimizer(s.run, s.runner.Backend),
		[]metric.Interface{batchError}, nil)
}

// trainingGraph builds the training graph of a run: images [N, H, W, C] to class scores [N, Y].
func trainingGraph(run experiments.Run) func(scope *model.Scope, images *Node) *Node {
	return func(scope *model.Scope, images *Node) *Node {
		cosineschedule.New(scope, images.Graph(), images.DType()).FromScope().Done()
		return run.Network.Forward(scope, run.Hyper.Hyper, augment(scope, run.Hyper, images)).Scores
	}
}

// errorGraph returns the share of a batch's images, in percent, whose highest score is not their
// label's.
func errorGraph(scope *model.Scope, labels, scores []*Node) *Node {
	return MulScalar(OneMinus(metric.SparseCategoricalAccuracyGraph(scope, labels, scores)), 100)
}

// onStep adds the step to its epoch. It saves a checkpoint at the end of an epoch, and when the run
// is to stop.
func (s *trainingRun) onStep(loop *train.Loop, metrics []*tensors.Tensor) (err error) {
	s.Steps++
	// metrics are the loss and its moving average, which the Trainer adds, and the batch error.
	loss := shapes.ConvertTo[float64](metrics[0].Value())
	if !finite(loss) {
		return s.diverged(fmt.Sprintf("the loss is %f", loss))
	}
	s.Loss += loss
	batch := float64(s.run.Hyper.Batch)
	// Round to whole images: XLA returns −0.0000015 % where none is wrong.
	s.Err += 100 * math.Round(shapes.ConvertTo[float64](metrics[2].Value())/100*batch) / batch
	stop := context.Cause(s.ctx)
	if s.reported.IsZero() {
		s.reported = time.Now()
	}
	point, ended := s.point(), s.Steps == s.run.StepsPerEpoch()
	switch {
	case ended:
		err = s.endEpoch()
	case stop != nil:
		err = s.save()
	}
	if err != nil {
		return err
	}
	if !s.runner.Terminal && (ended || time.Since(s.reported) > silence) {
		s.sayProgress(loop, point)
	}
	if s.runner.OnProgress != nil && (ended || time.Since(s.shown) > time.Second) {
		curve := s.Curve
		if !ended {
			curve = append(slices.Clone(curve), point)
		}
		speed, left := s.pace(loop, point.Step)
		s.runner.OnProgress(s.run, curve, speed+left)
		s.shown = time.Now()
	}
	return stop
}

// point returns the point of the learning curve that the epoch under way has reached.
func (s *trainingRun) point() record.Epoch {
	steps := float64(s.Steps)
	return record.Epoch{Epoch: len(s.Curve) + 1, Step: s.taken(),
		BatchLoss: s.Loss / steps, BatchErr: s.Err / steps}
}

// finite reports whether a number is neither infinite nor NaN.
func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// Diverged is the error of a run whose numbers are no longer finite. Other runs may well train.
type Diverged struct{ error }

// diverged returns the error of this run. Its checkpoints stay: training again says the same after
// a few steps.
func (s *trainingRun) diverged(what string) error {
	rates := fmt.Sprintf("learning_rate=%g", s.run.Hyper.LearningRate)
	if s.run.Hyper.Optimizer == experiments.Muon {
		rates += fmt.Sprintf(";muon_rate=%g", s.run.Hyper.MuonRate)
	}
	return Diverged{fmt.Errorf("%s diverged: %s after step %d with %s; try smaller rates with --set",
		s.ID, what, s.taken(), rates)}
}

// endEpoch adds the epoch to the curve and saves a checkpoint.
func (s *trainingRun) endEpoch() error {
	point := s.point()
	if s.run.EvalEachEpoch {
		train, test, err := s.evaluateBoth(experiments.TracedImages)
		if err != nil && s.ctx.Err() != nil {
			if failed := s.save(); failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
		point.Trace = &record.Trace{TrainLoss: train.loss, TrainErr: train.errorRate,
			TestErr: test.errorRate}
	}
	point.Seconds = time.Since(s.began).Seconds()
	s.Curve, s.epoch, s.began = append(s.Curve, point), epoch{}, time.Now()
	if err := seedEpoch(s.store, s.run, len(s.Curve)); err != nil {
		return err
	}
	return s.save()
}

// silence is how long a run trains without a word, at most. Tests shorten it.
var silence = time.Minute

// sayProgress writes a line about training up to a point: how far the epoch is, if it is under way,
// and the time left.
func (s *trainingRun) sayProgress(loop *train.Loop, point record.Epoch) {
	share, steps := "", s.run.StepsPerEpoch()
	if point.Step%steps > 0 {
		share = fmt.Sprintf(", %d%%", 100*(point.Step%steps)/steps)
	}
	_, left := s.pace(loop, point.Step)
	s.say("epoch %d of %d%s: error %.1f%%, %s", point.Epoch, s.run.Epochs, share, point.BatchErr, left)
	s.reported = time.Now()
}

// pace returns what follows from the median time of a step: how fast training is, with a comma, and
// the time left after a step, that of this run and that of all runs.
func (s *trainingRun) pace(loop *train.Loop, step int) (speed, left string) {
	if len(loop.TrainStepDurations) == 0 { // during the first step of this process
		return "", "time left unknown"
	}
	one := loop.MedianTrainStepDuration()
	speed = fmt.Sprintf("%.0f images/s, ", float64(s.run.Hyper.Batch)/one.Seconds())
	run := one * time.Duration(s.run.Steps()-step)
	left = rounded(run) + " left"
	if later := s.place.RemainingWork; later > 0 {
		all := run + time.Duration(later*float64(s.run.Steps())*float64(one))
		left += ", all " + rounded(all)
	}
	return speed, left
}

// rounded returns a duration in minutes, or in seconds below two minutes.
func rounded(d time.Duration) string {
	if d < 2*time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// evaluation is what a model does on images: its error rate in percent, its log-loss and the
// penalty of its variables in nats, and its scores.
type evaluation struct {
	errorRate, loss, penalty float64
	scores                   ebssc.Scores
}

// evaluateBoth measures the model on the first training images, up to most, and on all test
// images.
func (s *trainingRun) evaluateBoth(most int) (train, test evaluation, err error) {
	if train, err = s.evaluate(s.train, most); err == nil {
		test, err = s.evaluate(s.test, len(s.test.labels))
	}
	return train, test, err
}

// evaluate measures the model on the first images in order, up to most. It stops with the
// context's cause.
func (s *trainingRun) evaluate(images labelled, most int) (e evaluation, err error) {
	labels := images.labels[:min(most, len(images.labels))]
	for batch, err := range images.Copy().BatchSize(experiments.EvaluationBatch, false).Iter() {
		var some ebssc.Scores
		if err == nil {
			some, e.penalty, err = score(s.evaluator, batch.Inputs[0], experiments.EvaluationBatch)
			err = errors.Join(err, batch.Finalize(), context.Cause(s.ctx))
		}
		if err != nil {
			return e, err
		}
		if e.scores = append(e.scores, some...); len(e.scores) >= len(labels) {
			break
		}
	}
	e.scores = e.scores[:len(labels)]
	wrong := 0
	for i, predicted := range e.scores.Predictions() {
		if predicted != labels[i] {
			wrong++
		}
	}
	e.errorRate = 100 * float64(wrong) / float64(len(labels))
	e.loss = e.scores.LogLoss(labels)
	if sum := e.loss + e.penalty; !finite(sum) {
		return e, s.diverged(fmt.Sprintf("the objective is %f", sum))
	}
	return e, nil
}

// measure measures the trained model on all images that the run trains and tests on.
func (s *trainingRun) measure() (t record.Training, err error) {
	s.say("measuring errors on %d and %d images", len(s.train.labels),
		len(s.test.labels))
	began := time.Now()
	train, test, err := s.evaluateBoth(len(s.train.labels))
	if err != nil {
		return t, err
	}
	t = record.Training{Origin: s.Origin, Curve: s.Curve,
		TrainErr: train.errorRate, TrainLoss: train.loss,
		TestErr: test.errorRate, TestLoss: test.loss, Penalty: test.penalty,
		Predictions: record.ClassText(test.scores.Predictions(), s.run.Network.Classes),
		Labels:      record.ClassText(s.test.labels, s.run.Network.Classes),
		Seconds:     time.Since(began).Seconds(), Finished: time.Now().UTC().Truncate(time.Second)}
	for _, point := range s.Curve {
		t.Seconds += point.Seconds
	}
	return t, nil
}

// newEvaluator returns the program of a run's network with the variables of a store, without
// augmentation and dropout: images [N, H, W, C] to class scores and the penalty of Eq.
// (train_obj2). Its first call compiles. It reads the variables at each call, so one serves a whole
// run.
func newEvaluator(
	backend compute.Backend, store *model.Store, run experiments.Run,
) (*model.Exec, error) {
	return model.NewExec(backend, store, func(scope *model.Scope, images *Node) []*Node {
		pass := run.Network.Forward(scope, run.Hyper.Hyper, images)
		return []*Node{pass.Scores, pass.Penalty}
	})
}

// score returns the class scores of images [n, H, W, C], n ≤ batch, and the network's penalty.
// Empty images fill the batch: another size would be compiled for a second time.
func score(
	evaluator *model.Exec, images *tensors.Tensor, batch int,
) (scores ebssc.Scores, penalty float64, err error) {
	n := images.Shape().Dim(0)
	if n < batch {
		dims := slices.Clone(images.Shape().Dimensions)
		dims[0] = batch
		all := make([]float32, images.Shape().Size()/n*batch)
		copy(all, tensors.MustCopyFlatData[float32](images))
		images = tensors.FromFlatDataAndDimensions(all, dims...)
		defer images.MustFinalizeAll()
	}
	outputs, err := evaluator.Call(images)
	if err != nil {
		return nil, 0, fmt.Errorf("computing class scores: %w", err)
	}
	scores = outputs[0].Value().([][]float32)[:n]
	penalty = float64(tensors.ToScalar[float32](outputs[1]))
	return scores, penalty, errors.Join(outputs[0].FinalizeAll(), outputs[1].FinalizeAll())
}
