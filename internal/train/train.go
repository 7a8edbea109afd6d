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

	"ebsscgo/experiments"
	"ebsscgo/internal/atomicfile"
	"ebsscgo/internal/record"
)

// Train trains a run and measures it. It returns the record, still without decodings and checksums, and the trained model. A run that was
// interrupted goes on from its last checkpoint and ends with the same bits. When ctx ends, Train finishes the step, saves a checkpoint and returns
// ctx's cause.
func (r *Runner) Train(ctx context.Context, run experiments.Run) (record.Record, *model.Store, error) {
	s := &trainingRun{runner: r, ctx: ctx, run: run, id: run.ID(), checkpoints: r.Checkpoints, origin: r.Origin}
	s.place = r.Places[s.id]
	if devices := max(1, r.Origin.Devices); run.Hyper.Batch%devices != 0 {
		return record.Record{}, nil, fmt.Errorf("batch_size=%d cannot be shared by %d devices: take a multiple of %[2]d with --set batch_size=…, or other --devices",
			run.Hyper.Batch, devices)
	}
	if s.checkpoints != "" {
		if err := os.MkdirAll(s.checkpoints, 0o755); err != nil {
			return record.Record{}, nil, fmt.Errorf("a folder for checkpoints: %w; give another folder with --results", err)
		}
		if err := atomicfile.RemoveUnfinished(s.checkpoints, s.id); err != nil {
			return record.Record{}, nil, err
		}
	}
	if ctx.Err() != nil {
		return record.Record{}, nil, context.Cause(ctx)
	}
	images, release, err := r.acquireImages(ctx, run)
	if err != nil {
		return record.Record{}, nil, err
	}
	defer release()
	if ctx.Err() != nil { // while they were preprocessed; what follows compiles
		return record.Record{}, nil, context.Cause(ctx)
	}
	s.images = images
	finished, err := s.execute()
	if err != nil {
		return record.Record{}, nil, fmt.Errorf("%s: %w", s.id, err)
	}
	return finished, s.store, nil
}

// trainingRun is a run in training.
type trainingRun struct {
	runner *Runner
	ctx    context.Context
	run    experiments.Run
	id     string
	place  Place
	// checkpoints is their folder; empty for none.
	checkpoints string
	images      *prepared
	store       *model.Store
	// pending variables of a checkpoint, which no graph has asked for yet.
	pending loader
	curve   []record.Epoch
	// evaluator of the model as it stands; made when it is first needed.
	evaluator *evaluator

	// said is when the run last wrote how far it is; zero before the first step of this process, which compiles.
	said time.Time
	// median duration of the steps of this process; 0 before its first epoch of several steps ends.
	median time.Duration
	// underWay is the epoch under way, without its seconds: these count from began.
	underWay epoch
	began    time.Time

	// origin of what was trained so far, in this process and in earlier ones.
	origin record.Origin
}

// seconds that were trained when the last checkpoint was made or read.
func (s *trainingRun) seconds() float64 {
	seconds := s.underWay.Seconds
	for _, point := range s.curve {
		seconds += point.Seconds
	}
	return seconds
}

// execute trains what is left of the run, and measures the trained model.
func (s *trainingRun) execute() (finished record.Record, err error) {
	// Graph building panics; here is the one place where that becomes an error.
	panicked := exceptions.TryCatch[error](func() {
		if err = s.train(); err == nil {
			finished, err = s.measure()
		}
	})
	if s.evaluator != nil {
		s.evaluator.exec.Finalize()
	}
	err = errors.Join(panicked, err)
	if err != nil && s.store != nil {
		s.store.Finalize() // now: the garbage collector does not see how much of the device's memory it holds
	}
	return finished, err
}

// Purposes of random numbers.
const (
	dropout      = experiments.Dropout
	augmentation = experiments.Augmentation
)

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

// setState seeds the random numbers of augmentation.
func setState(store *model.Store, seed int64) error {
	state, err := RNGStateFromSeed(seed)
	if err != nil {
		return err
	}
	if v := store.GetVariable(augmentationState); v != nil {
		return v.SetValue(state)
	}
	v, err := store.CreateVariable(augmentationState, state)
	if err == nil {
		v.SetTrainable(false)
	}
	return err
}

// train trains what is left of the run's epochs.
func (s *trainingRun) train() error {
	if err := s.restore(); err != nil {
		return err
	}
	s.began = time.Now().Add(-time.Duration(s.underWay.Seconds * float64(time.Second)))
	total, steps := s.run.Epochs*s.run.StepsPerEpoch(), s.run.StepsPerEpoch()
	step := int(optimizer.GetGlobalStep(s.store))
	if s.underWay.Steps == steps { // stopped while the epoch was being measured
		if err := s.endEpoch(step); err != nil {
			return err
		}
	}
	if step >= total {
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
	_, err = loop.RunToGlobalStep(batches, total)
	return err
}

// say writes a line about the run.
func (s *trainingRun) say(format string, values ...any) {
	fmt.Fprintf(s.runner.Log, "%s: %s\n", cmp.Or(s.place.Name, s.id), fmt.Sprintf(format, values...))
}

// attachProgressBar shows the progress of training on the terminal.
func (s *trainingRun) attachProgressBar(loop *train.Loop) {
	show := func(name string, value func(step, left time.Duration) string) commandline.ExtraMetricFn {
		return func() (string, string) {
			step := loop.MedianTrainStepDuration()
			return name, value(step, step*time.Duration(loop.EndStep-loop.LoopStep-1))
		}
	}
	commandline.AttachProgressBar(loop,
		show("Epoch", func(_, _ time.Duration) string {
			return fmt.Sprintf("%d of %d", loop.LoopStep/s.run.StepsPerEpoch()+1, s.run.Epochs)
		}),
		show("Images/s", func(step, _ time.Duration) string {
			return fmt.Sprintf("%.0f", float64(s.run.Hyper.Batch)/step.Seconds())
		}),
		show("Time left", func(step, left time.Duration) string { return s.left(left, step*time.Duration(loop.EndStep)) }))
}

// left writes the time left: own, that of this run, and that of all runs, estimated from the time that a whole run takes.
func (s *trainingRun) left(own, whole time.Duration) string {
	text := own.Round(time.Second).String()
	if s.place.Later > 0 {
		all := own + time.Duration(s.place.Later*float64(whole))
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
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return s.diverged(fmt.Sprintf("the loss is %f", loss), step)
	}
	s.underWay.Steps++
	s.underWay.Loss += loss
	batch := float64(s.run.Hyper.Batch) // of which a whole number is wrong: XLA's rounding makes −0.0000015 % of none
	s.underWay.Err += 100 * math.Round(shapes.ConvertTo[float64](metrics[2].Value())/100*batch) / batch
	stop := context.Cause(s.ctx)
	if s.said.IsZero() {
		s.said = time.Now()
	}
	switch {
	case s.underWay.Steps == s.run.StepsPerEpoch():
		if len(loop.TrainStepDurations) > 1 { // without a step that compiles alone
			s.median = loop.MedianTrainStepDuration()
		}
		err = s.endEpoch(step)
	case stop != nil:
		err = s.pause()
	case !s.runner.Terminal && time.Since(s.said) > silence:
		steps, whole := float64(s.underWay.Steps), s.run.StepsPerEpoch()
		s.sayProgress(record.Epoch{Epoch: step/whole + 1, Step: step, BatchLoss: s.underWay.Loss / steps, BatchErr: s.underWay.Err / steps},
			fmt.Sprintf(", %d%% of it", 100*s.underWay.Steps/whole), loop.MedianTrainStepDuration())
	}
	if err != nil {
		return err
	}
	return stop
}

// Diverged is the error of a run whose numbers are no longer finite. It says nothing of other runs.
type Diverged struct {
	// ID of the run, What is not finite, and after how many steps.
	ID, What string
	Step     int
	// Rates of learning with which it diverged, as --set takes them.
	Rates string
}

// Error says what to do.
func (d Diverged) Error() string {
	return fmt.Sprintf("%s diverged: %s after step %d with %s; try smaller rates with --set", d.ID, d.What, d.Step, d.Rates)
}

// diverged is the error of this run.
func (s *trainingRun) diverged(what string, step int) error {
	rates := fmt.Sprintf("learning_rate=%g", s.run.Hyper.LearningRate)
	if s.run.Hyper.Optimizer == experiments.Muon {
		rates += fmt.Sprintf(";muon_rate=%g", s.run.Hyper.MuonRate)
	}
	return Diverged{s.id, what, step, rates}
}

// pause saves the epoch under way.
func (s *trainingRun) pause() error {
	s.underWay.Seconds = time.Since(s.began).Seconds()
	return s.save()
}

// endEpoch adds the epoch to the curve and saves a checkpoint.
func (s *trainingRun) endEpoch(step int) error {
	steps := float64(s.underWay.Steps)
	training := time.Since(s.began)
	point := record.Epoch{Epoch: step / s.underWay.Steps, Step: step, BatchLoss: s.underWay.Loss / steps, BatchErr: s.underWay.Err / steps}
	if s.run.Traced {
		var err error
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
	if !s.runner.Terminal {
		s.sayProgress(point, "", cmp.Or(s.median, training/time.Duration(steps))) // the mean has the compiler's time in it
	}
	s.began = time.Now()
	return nil
}

// silence is how long a run without a progress bar trains without a word, at most. Tests shorten it.
var silence = time.Minute

// sayProgress writes a line about training up to a point: how far the epoch is, if it is under way, and what follows from the time of
// one step.
func (s *trainingRun) sayProgress(point record.Epoch, share string, one time.Duration) {
	all := s.run.Epochs * s.run.StepsPerEpoch()
	s.say("epoch %d of %d%s: loss %.4f, error %.2f%%, %.0f images/s, time left %s", point.Epoch, s.run.Epochs, share, point.BatchLoss,
		point.BatchErr, float64(s.run.Hyper.Batch)/one.Seconds(), s.left(one*time.Duration(all-point.Step), one*time.Duration(all)))
	s.said = time.Now()
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
	if s.evaluator == nil {
		if s.evaluator, err = newEvaluator(s.runner.Backend, s.store, s.run); err != nil {
			return e, err
		}
	}
	if e.scores, e.penalty, err = s.evaluator.scores(s.ctx, images, len(labels)); err != nil {
		return e, err
	}
	e.errorRate, e.loss = record.ErrorRate(digits(e.scores.Predictions()), digits(labels)), e.scores.LogLoss(labels)
	if sum := e.loss + e.penalty; math.IsNaN(sum) || math.IsInf(sum, 0) {
		return e, s.diverged(fmt.Sprintf("the objective is %f", sum), int(optimizer.GetGlobalStep(s.store)))
	}
	return e, nil
}

// measure evaluates the trained model.
func (s *trainingRun) measure() (record.Record, error) {
	kind := "test"
	if s.run.HeldOut > 0 {
		kind = "held-out"
	}
	s.say("measuring errors on %d training and %d %s images", len(s.images.trainLabels), len(s.images.testLabels), kind)
	began := time.Now()
	count, err := s.run.Network.Count()
	if err != nil {
		return record.Record{}, err
	}
	r := record.Record{Run: s.run, Parameters: count.Total(), Origin: s.origin, Curve: s.curve}
	train, err := s.evaluate(s.images.train, s.images.trainLabels)
	if err != nil {
		return record.Record{}, err
	}
	test, err := s.evaluate(s.images.test, s.images.testLabels)
	if err != nil {
		return record.Record{}, err
	}
	r.TrainErr, r.TestErr, r.TrainLoss, r.TestLoss, r.Penalty = train.errorRate, test.errorRate, train.loss, test.loss, test.penalty
	r.Predictions, r.Labels = digits(test.scores.Predictions()), digits(s.images.testLabels)
	r.Seconds = s.seconds() + time.Since(began).Seconds()
	r.Finished = time.Now().UTC().Truncate(time.Second)
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

// stream makes a generator of math/rand/v2 a source of math/rand, which GoMLX takes. (That package's own source knows 2³¹ seeds alone.)
type stream struct{ randv2.PCG }

// Int63 is a random number of 63 bits.
func (s *stream) Int63() int64 { return int64(s.Uint64() >> 1) }

// Seed is part of the interface; nobody calls it.
func (s *stream) Seed(seed int64) { s.PCG.Seed(uint64(seed), 0) }
