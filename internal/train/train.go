package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand"
	randv2 "math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/ml/train/optimizer/cosineschedule"
	"github.com/gomlx/gomlx/support/exceptions"
	"github.com/gomlx/gomlx/ui/commandline"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// Train trains a run and measures it. It returns the record, still without decodings and checksums, and the trained model. A run that was
// interrupted goes on from its last checkpoint and ends with the same bits. When ctx ends, Train finishes the step, saves a checkpoint and returns
// ctx's cause.
func (r *Runner) Train(ctx context.Context, run experiments.Run) (finished record.Record, store *model.Store, err error) {
	s := &trainingRun{runner: r, ctx: ctx, run: run, id: run.ID(), origin: r.Origin}
	if devices := max(1, r.Origin.Devices); run.Hyper.Batch%devices != 0 {
		return finished, nil, fmt.Errorf("batch_size=%d cannot be shared by %d devices: take a multiple of %[2]d with --set batch_size=…, or other --devices",
			run.Hyper.Batch, devices)
	}
	if r.Checkpoints != "" {
		if err := os.MkdirAll(r.Checkpoints, 0o755); err != nil {
			return finished, nil, fmt.Errorf("a folder for checkpoints: %w; give another folder with --results", err)
		}
		if err := safefile.RemoveUnfinished(r.Checkpoints, s.id); err != nil {
			return finished, nil, err
		}
	}
	if s.images, err = r.acquireImages(ctx, run); err != nil {
		return finished, nil, err
	}
	defer r.releaseImages(s.images)
	if ctx.Err() != nil { // while they were preprocessed; what follows compiles
		return finished, nil, context.Cause(ctx)
	}
	// Graph building panics; here is the one place where that becomes an error.
	panicked := exceptions.TryCatch[error](func() {
		if err = s.train(); err == nil {
			finished, err = s.measure()
		}
	})
	if s.evaluator != nil {
		s.evaluator.Finalize()
	}
	if err = errors.Join(panicked, err); err == nil {
		return finished, s.store, nil
	}
	if s.store != nil {
		s.store.Finalize() // now: the garbage collector does not see how much of the device's memory it holds
	}
	return finished, nil, fmt.Errorf("%s: %w", s.id, err)
}

// trainingRun is a run in training.
type trainingRun struct {
	runner *Runner
	ctx    context.Context
	run    experiments.Run
	id     string
	images *prepared
	store  *model.Store
	// pending variables of a checkpoint, which no graph has asked for yet.
	pending loader
	curve   []record.Epoch
	// evaluator of the model as it stands.
	evaluator *model.Exec
	// reported is when the run last wrote how far it is; zero before the first step of this process, which compiles.
	reported time.Time
	// underWay is the epoch under way, without its seconds: these count from began.
	underWay epoch
	began    time.Time
	// origin of what was trained so far, in this process and in earlier ones.
	origin record.Origin
}

// newStore returns an empty model, seeded for the first epoch of a run, with the parameters that GoMLX's optimizers read.
func newStore(run experiments.Run) *model.Store {
	store := model.NewStore()
	store.SetParam(model.ParamInitialSeed, run.Stream(experiments.InitialValues, 0))
	store.SetParam(optimizer.ParamLearningRate, run.Hyper.LearningRate)
	steps := run.Epochs * run.StepsPerEpoch()
	rising := int(run.Hyper.WarmUp * float64(steps))
	store.SetParam(cosineschedule.ParamWarmUpSteps, rising)
	store.SetParam(cosineschedule.ParamPeriodSteps, steps-rising)
	return store
}

// train trains what is left of the run's epochs.
func (s *trainingRun) train() (err error) {
	if err := s.restore(); err != nil {
		return err
	}
	if s.evaluator, err = newEvaluator(s.runner.Backend, s.store, s.run); err != nil {
		return err
	}
	s.began = time.Now().Add(-time.Duration(s.underWay.Seconds * float64(time.Second)))
	step := int(optimizer.GetGlobalStep(s.store))
	if s.underWay.Steps == s.run.StepsPerEpoch() { // stopped while the epoch was being measured
		if err := s.endEpoch(step); err != nil {
			return err
		}
	}
	if step >= s.steps() {
		return nil
	}
	loop := s.loop(s.graph)
	defer loop.Trainer.ResetComputationGraphs()
	loop.OnStep("epoch", 0, s.onStep)
	if s.runner.Terminal {
		s.attachProgressBar(loop)
	}
	s.say("compiling %s", s.id)
	defer context.AfterFunc(s.ctx, func() { s.say("finishing the step and saving a checkpoint") })()
	batches, err := s.batches(step)
	if err != nil {
		return err
	}
	_, err = loop.RunToGlobalStep(batches, s.steps())
	return err
}

// steps of the whole run.
func (s *trainingRun) steps() int { return s.run.Epochs * s.run.StepsPerEpoch() }

// say writes a line about the run.
func (s *trainingRun) say(format string, values ...any) {
	fmt.Fprintf(s.runner.Log, "%s: %s\n", cmp.Or(s.runner.Places[s.id].Name, s.id), fmt.Sprintf(format, values...))
}

// attachProgressBar shows the progress of training on the terminal.
func (s *trainingRun) attachProgressBar(loop *train.Loop) {
	commandline.AttachProgressBar(loop,
		func() (string, string) {
			return "Epoch", fmt.Sprintf("%d of %d", loop.LoopStep/s.run.StepsPerEpoch()+1, s.run.Epochs)
		},
		func() (string, string) {
			return "Images/s", fmt.Sprintf("%.0f", float64(s.run.Hyper.Batch)/loop.MedianTrainStepDuration().Seconds())
		},
		func() (string, string) { return "Time left", s.left(loop.LoopStep+1, loop.MedianTrainStepDuration()) })
}

// left writes the time left after a step, that of this run and that of all runs, estimated from the time of one step.
func (s *trainingRun) left(step int, one time.Duration) string {
	own := one * time.Duration(s.steps()-step)
	text := own.Round(time.Second).String()
	if later := s.runner.Places[s.id].Later; later > 0 {
		all := own + time.Duration(later*float64(s.steps())*float64(one))
		text += fmt.Sprintf(" (all runs %s)", strings.TrimSuffix((all+time.Minute).Truncate(time.Minute).String(), "0s"))
	}
	return text
}

// loop takes steps in training a graph.
func (s *trainingRun) loop(graph func(scope *model.Scope, images *Node) *Node) *train.Loop {
	return train.NewLoop(train.NewTrainer(s.runner.Backend, s.store, graph, loss.SparseCategoricalCrossEntropyLogits,
		newOptimizer(s.run, s.runner.Backend), []metric.Interface{
			metric.NewBaseMetric("Batch error", "err", "error", errorGraph, nil),
			metric.NewExponentialMovingAverageMetric("Moving Average Error", "~err", "error", errorGraph, nil, 0.01),
		}, nil))
}

// graph is the training graph: images [N, H, W, C] to class scores [N, Y].
func (s *trainingRun) graph(scope *model.Scope, images *Node) *Node {
	cosineschedule.New(scope, images.Graph(), images.DType()).FromScope().Done()
	return s.run.Network.Forward(scope, s.run.Hyper.Hyper, augment(scope, s.run.Hyper, images)).Scores
}

// errorGraph is the share of a batch's images, in percent, whose highest score is not their label's.
func errorGraph(scope *model.Scope, labels, scores []*Node) *Node {
	return MulScalar(OneMinus(metric.SparseCategoricalAccuracyGraph(scope, labels, scores)), 100)
}

// onStep adds the step to its epoch. It saves a checkpoint at the end of an epoch, and when the run is to stop.
func (s *trainingRun) onStep(loop *train.Loop, metrics []*tensors.Tensor) (err error) {
	step := loop.LoopStep + 1
	loss := shapes.ConvertTo[float64](metrics[0].Value())
	if !finite(loss) {
		return s.diverged(fmt.Sprintf("the loss is %f", loss), step)
	}
	s.underWay.Steps++
	s.underWay.Loss += loss
	batch := float64(s.run.Hyper.Batch) // of which a whole number is wrong: XLA's rounding makes −0.0000015 % of none
	s.underWay.Err += 100 * math.Round(shapes.ConvertTo[float64](metrics[2].Value())/100*batch) / batch
	stop := context.Cause(s.ctx)
	if s.reported.IsZero() {
		s.reported = time.Now()
	}
	point, ended := s.point(step), s.underWay.Steps == s.run.StepsPerEpoch()
	switch {
	case ended:
		err = s.endEpoch(step)
	case stop != nil:
		err = s.pause()
	}
	if err != nil {
		return err
	}
	if !s.runner.Terminal && (ended || time.Since(s.reported) > silence) {
		s.sayProgress(point, loop.MedianTrainStepDuration())
	}
	return stop
}

// point sums up the epoch under way, up to a step.
func (s *trainingRun) point(step int) record.Epoch {
	steps := float64(s.underWay.Steps)
	return record.Epoch{Epoch: len(s.curve) + 1, Step: step, BatchLoss: s.underWay.Loss / steps, BatchErr: s.underWay.Err / steps}
}

// finite says whether a number is neither infinite nor NaN.
func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// Diverged is the error of a run whose numbers are no longer finite. It says nothing of other runs.
type Diverged string

// Error says what to do.
func (d Diverged) Error() string { return string(d) }

// diverged is the error of this run.
func (s *trainingRun) diverged(what string, step int) error {
	rates := fmt.Sprintf("learning_rate=%g", s.run.Hyper.LearningRate)
	if s.run.Hyper.Optimizer == experiments.Muon {
		rates += fmt.Sprintf(";muon_rate=%g", s.run.Hyper.MuonRate)
	}
	return Diverged(fmt.Sprintf("%s diverged: %s after step %d with %s; try smaller rates with --set", s.id, what, step, rates))
}

// pause saves the epoch under way.
func (s *trainingRun) pause() error {
	s.underWay.Seconds = time.Since(s.began).Seconds()
	return s.save()
}

// endEpoch adds the epoch to the curve and saves a checkpoint.
func (s *trainingRun) endEpoch(step int) (err error) {
	point := s.point(step)
	if s.run.Traced {
		if point.Trace, err = s.trace(); err != nil {
			if s.ctx.Err() != nil {
				return errors.Join(s.pause(), err)
			}
			return err
		}
	}
	point.Seconds = time.Since(s.began).Seconds()
	s.curve = append(s.curve, point)
	s.underWay = epoch{}
	if err := errors.Join(s.seedEpoch(), s.save()); err != nil {
		return err
	}
	if s.runner.OnEpoch != nil {
		s.runner.OnEpoch(s.run, s.curve)
	}
	s.began = time.Now()
	return nil
}

// silence is how long a run without a progress bar trains without a word, at most. Tests shorten it.
var silence = time.Minute

// sayProgress writes a line about training up to a point: how far the epoch is, if it is under way, and what follows from the time of
// one step.
func (s *trainingRun) sayProgress(point record.Epoch, one time.Duration) {
	share := ""
	if whole := s.run.StepsPerEpoch(); point.Step%whole > 0 {
		share = fmt.Sprintf(", %d%% of it", 100*(point.Step%whole)/whole)
	}
	s.say("epoch %d of %d%s: loss %.4f, error %.2f%%, %.0f images/s, time left %s", point.Epoch, s.run.Epochs, share, point.BatchLoss,
		point.BatchErr, float64(s.run.Hyper.Batch)/one.Seconds(), s.left(point.Step, one))
	s.reported = time.Now()
}

// tracedImages is how many training images a traced run is measured on after each epoch.
const tracedImages = 10_000

// trace measures the model after an epoch.
func (s *trainingRun) trace() (*record.Trace, error) {
	labels := s.images.trainLabels[:min(tracedImages, len(s.images.trainLabels))]
	train, err := s.evaluate(s.images.train, labels)
	if err != nil {
		return nil, err
	}
	test, err := s.evaluate(s.images.test, s.images.testLabels)
	return &record.Trace{TrainLoss: train.loss, TrainErr: train.errorRate, TestErr: test.errorRate}, err
}

// evaluation is what a model does on images: its error rate in percent, its log-loss and the penalty of its variables in nats, and its scores.
type evaluation struct {
	errorRate, loss, penalty float64
	scores                   Scores
}

// evaluate measures the model on the first images, those that have labels here.
func (s *trainingRun) evaluate(images *dataset.InMemoryDataset, labels []uint8) (e evaluation, err error) {
	if e.scores, e.penalty, err = scoreFirst(s.ctx, s.evaluator, images, len(labels)); err != nil {
		return e, err
	}
	e.errorRate, e.loss = record.ErrorRate(digits(e.scores.Predictions()), digits(labels)), e.scores.LogLoss(labels)
	if sum := e.loss + e.penalty; !finite(sum) {
		return e, s.diverged(fmt.Sprintf("the objective is %f", sum), int(optimizer.GetGlobalStep(s.store)))
	}
	return e, nil
}

// measure evaluates the trained model.
func (s *trainingRun) measure() (r record.Record, err error) {
	s.say("measuring errors on %d training images and %d others", len(s.images.trainLabels), len(s.images.testLabels))
	began := time.Now()
	count, err := s.run.Network.Count()
	if err != nil {
		return r, err
	}
	train, err := s.evaluate(s.images.train, s.images.trainLabels)
	if err != nil {
		return r, err
	}
	test, err := s.evaluate(s.images.test, s.images.testLabels)
	if err != nil {
		return r, err
	}
	r = record.Record{Run: s.run, Parameters: count.Total(), Origin: s.origin, Curve: s.curve,
		TrainErr: train.errorRate, TestErr: test.errorRate, TrainLoss: train.loss, TestLoss: test.loss, Penalty: test.penalty,
		Predictions: digits(test.scores.Predictions()), Labels: digits(s.images.testLabels),
		Seconds: time.Since(began).Seconds(), Finished: time.Now().UTC().Truncate(time.Second)}
	for _, point := range s.curve {
		r.Seconds += point.Seconds
	}
	return r, nil
}

// digits writes classes as text, a digit each.
func digits(classes []uint8) string {
	text := make([]byte, len(classes))
	for i, class := range classes {
		text[i] = '0' + class
	}
	return string(text)
}

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
			order := rand.New(&stream{*randv2.NewPCG(uint64(e.run.Stream(experiments.Order, epoch)), 0)})
			for batch, err := range e.images.Copy().WithRand(order).Shuffle().BatchSize(e.run.Hyper.Batch, true).Iter() {
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

// stream makes a generator of math/rand/v2 a source of math/rand, which GoMLX takes. (That package's own source knows 2³¹ seeds alone.)
type stream struct{ randv2.PCG }

// Int63 is a random number of 63 bits.
func (s *stream) Int63() int64 { return int64(s.Uint64() >> 1) }

// Seed is part of the interface; nobody calls it.
func (s *stream) Seed(seed int64) { s.PCG.Seed(uint64(seed), 0) }

// evaluationBatch divides the sizes of the usual data sets, so that one program serves all batches.
const evaluationBatch = 100

// Scores are class scores of images, one row an image: the logits of the softmax.
type Scores [][]float32

// newEvaluator compiles a run's network, without augmentation and dropout, with the variables of a store: images [N, H, W, C] to class scores
// and the penalty of Eq. (train_obj2). It reads the variables at each call, so one serves a whole run.
func newEvaluator(backend compute.Backend, store *model.Store, run experiments.Run) (*model.Exec, error) {
	return model.NewExec(backend, store, func(scope *model.Scope, images *Node) []*Node {
		pass := run.Network.Forward(scope, run.Hyper.Hyper, images)
		return []*Node{pass.Scores, pass.Penalty}
	})
}

// score computes what an evaluator returns for images.
func score(evaluator *model.Exec, images *tensors.Tensor) (scores Scores, penalty float64, err error) {
	outputs, err := evaluator.Call(images)
	if err != nil {
		return nil, 0, fmt.Errorf("computing class scores: %w", err)
	}
	return outputs[0].Value().([][]float32), float64(tensors.ToScalar[float32](outputs[1])), errors.Join(outputs[0].FinalizeAll(), outputs[1].FinalizeAll())
}

// scoreFirst computes what an evaluator returns for the first `count` images in order. It stops with ctx's cause.
func scoreFirst(ctx context.Context, evaluator *model.Exec, images *dataset.InMemoryDataset, count int) (scores Scores, penalty float64, err error) {
	for batch, err := range images.Copy().BatchSize(min(evaluationBatch, count), false).Iter() {
		var some Scores
		if err == nil {
			some, penalty, err = score(evaluator, batch.Inputs[0])
			err = errors.Join(err, batch.Finalize())
		}
		if err != nil {
			return nil, 0, err
		}
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if scores = append(scores, some...); len(scores) >= count {
			break
		}
	}
	return scores[:min(count, len(scores))], penalty, nil
}

// Predictions are the classes with the highest scores.
func (s Scores) Predictions() []uint8 {
	predictions := make([]uint8, len(s))
	for i, row := range s {
		predictions[i] = uint8(slices.Index(row, slices.Max(row)))
	}
	return predictions
}

// LogLoss is the mean softmax log-loss, Eq. (train_obj2) without its penalty, in nats.
func (s Scores) LogLoss(labels []uint8) float64 {
	var sum float64
	for i, row := range s {
		var scores []float64
		for _, score := range row {
			scores = append(scores, float64(score))
		}
		sum += floats.LogSumExp(scores) - scores[labels[i]]
	}
	return sum / float64(len(s))
}
