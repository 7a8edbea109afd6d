package train

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
)

// EvaluationBatch is the number of images that are evaluated together.
const EvaluationBatch = evaluationBatch

// Augment is augment of training, in a graph of its own.
func Augment(backend compute.Backend, settings experiments.Settings, images *tensors.Tensor) (*tensors.Tensor, error) {
	store := model.NewStore()
	store.SetParams(settings)
	exec, err := model.NewExec(backend, store, func(scope *model.Scope, images *Node) *Node {
		store.SetTraining(images.Graph(), true)
		return augment(scope, images)
	})
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	return exec.Call1(images)
}

// TimeSteps takes as many training steps as an epoch has on a batch that lies on the device: seconds of each.
func TimeSteps(t require.TestingT, runner *Runner, run experiments.Run) (seconds []float64) {
	store := newStore(run)
	defer store.Finalize()
	require.NoError(t, store.SetRNGStateFromSeed(1))
	trainer := train.NewTrainer(runner.Backend, store, (&trainingRun{run: run}).graph, lossOf(run), newOptimizer(run), nil, nil)
	defer trainer.ResetComputationGraphs()
	images, release, err := runner.acquireImages(context.Background(), run)
	require.NoError(t, err)
	defer release()
	batch := firstBatch(t, images.train, run.Batch())
	for range 1 + run.StepsPerEpoch() {
		inputs, err := batch.Inputs[0].OnDeviceClone(runner.Backend, 0)
		require.NoError(t, err)
		labels, err := batch.Labels[0].OnDeviceClone(runner.Backend, 0)
		require.NoError(t, err)
		began := time.Now()
		metrics, err := trainer.TrainStep(train.Batch{Inputs: []*tensors.Tensor{inputs}, Labels: []*tensors.Tensor{labels}})
		require.NoError(t, err)
		tensors.ToScalar[float32](metrics[0])
		seconds = append(seconds, time.Since(began).Seconds())
		require.NoError(t, finalize(metrics...))
	}
	return seconds[1:] // the first one compiles
}

// begin is a run before its first step, and its batches. Call end after the last one.
func begin(t require.TestingT, runner *Runner, run experiments.Run) (s *trainingRun, batches train.Dataset, end func()) {
	images, release, err := runner.acquireImages(context.Background(), run)
	require.NoError(t, err)
	s = &trainingRun{runner: runner, run: run, images: images, store: newStore(run)}
	require.NoError(t, s.store.SetRNGStateFromSeed(int64(run.Seed)))
	batches, err = s.batches(0)
	require.NoError(t, err)
	return s, batches, func() {
		s.store.Finalize()
		release()
	}
}

// TakeSteps takes training steps from the start of a run, without measuring or saving anything, in numbers of a type: the loss
// of each step, the seconds it took, and the variables of the network at the end.
func TakeSteps[T float32 | float64](t require.TestingT, runner *Runner, run experiments.Run, steps int) (losses, seconds []float64, variables map[string][]T) {
	s, batches, end := begin(t, runner, run)
	defer end()
	loop := s.loop(func(scope *model.Scope, images *Node) *Node {
		return s.graph(scope, ConvertDType(images, dtypes.FromGenericsType[T]()))
	})
	defer loop.Trainer.ResetComputationGraphs()
	loop.OnStep("losses", 0, func(_ *train.Loop, metrics []*tensors.Tensor) error {
		losses = append(losses, float64(tensors.ToScalar[T](metrics[0])))
		return nil
	})
	_, err := loop.RunSteps(batches, steps)
	require.NoError(t, err)
	for _, duration := range loop.TrainStepDurations {
		seconds = append(seconds, duration.Seconds())
	}
	variables = map[string][]T{}
	for name, value := range run.Network.Variables(s.store) {
		variables[name] = tensors.MustCopyFlatData[T](value)
	}
	return losses, seconds, variables
}

// Labels are those of the images that a run trains on, and of those that it is measured on.
func Labels(t require.TestingT, runner *Runner, run experiments.Run) (trained, measured []uint8) {
	images, release, err := runner.acquireImages(context.Background(), run)
	require.NoError(t, err)
	defer release()
	return images.trainLabels, images.testLabels
}

// Schedule takes all steps of a run: Adam's rate in each, and how far a dictionary moves.
func Schedule(t require.TestingT, runner *Runner, run experiments.Run, dictionary string) (rates, moved []float64) {
	s, batches, end := begin(t, runner, run)
	defer end()
	loop := s.loop(s.graph)
	defer loop.Trainer.ResetComputationGraphs()
	var last []float32
	loop.OnStep("schedule", 0, func(*train.Loop, []*tensors.Tensor) error {
		rates = append(rates, float64(tensors.ToScalar[float32](optimizer.LearningRateVar(s.store.RootScope(), dtypes.Float32, 0).MustValue())))
		now := tensors.MustCopyFlatData[float32](run.Network.Variables(s.store)[dictionary])
		if last != nil {
			moved = append(moved, distance(last, now))
		}
		last = now
		return nil
	})
	_, err := loop.RunSteps(batches, run.Epochs*run.StepsPerEpoch())
	require.NoError(t, err)
	return rates, moved
}

// distance is the Euclidean one.
func distance(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += math.Pow(float64(b[i])-float64(a[i]), 2)
	}
	return math.Sqrt(sum)
}

// TimeEvaluations evaluates the test images several times, and a batch of them as often as there are batches: seconds
// of each evaluation and of each batch.
func TimeEvaluations(t require.TestingT, runner *Runner, run experiments.Run) (evaluations, inferences []float64) {
	store := newStore(run)
	defer store.Finalize()
	evaluator, err := newEvaluator(runner.Backend, store, run.Network)
	require.NoError(t, err)
	defer evaluator.exec.Finalize()
	images, release, err := runner.acquireImages(context.Background(), run)
	require.NoError(t, err)
	defer release()
	batch := firstBatch(t, images.test, EvaluationBatch)
	for range 1 + 3 {
		began := time.Now()
		_, _, err := evaluator.scores(context.Background(), images.test, run.TestImages)
		require.NoError(t, err)
		evaluations = append(evaluations, time.Since(began).Seconds())
		for range run.TestImages / EvaluationBatch {
			began := time.Now()
			outputs, err := evaluator.exec.Call(batch.Inputs[0])
			require.NoError(t, err)
			tensors.MustCopyFlatData[float32](outputs[0])
			inferences = append(inferences, time.Since(began).Seconds())
			require.NoError(t, finalize(outputs...))
		}
	}
	return evaluations[1:], inferences
}

// Restore makes the model of a run from its checkpoints as Train does, and says which step it would go on from.
func Restore(run experiments.Run, folder string, log io.Writer) (step int, err error) {
	s, err := restored(run, folder, log)
	if err != nil {
		return 0, err
	}
	defer s.store.Finalize()
	return int(optimizer.GetGlobalStep(s.store)), nil
}

// restored is a run that would go on training.
func restored(run experiments.Run, folder string, log io.Writer) (*trainingRun, error) {
	s := &trainingRun{runner: &Runner{Log: log}, run: run, id: run.ID(), folder: folder, ctx: context.Background()}
	return s, s.restore()
}

// SaveWith goes on from a run's last checkpoint, and saves the next one with this value in a variable of the network.
func SaveWith(run experiments.Run, folder string, value float32) error {
	s, err := restored(run, folder, io.Discard)
	if err != nil {
		return err
	}
	defer s.store.Finalize()
	offsets := s.store.GetVariable("conv6/offset").MustValue()
	if err := tensors.MutableFlatData(offsets, func(flat []float32) { flat[0] = value }); err != nil {
		return err
	}
	return s.save()
}

// Variables are the values in a checkpoint or a network's file by name, without its description.
func Variables(t require.TestingT, path string) map[string]any {
	arrays, err := readArrays(path)
	require.NoError(t, err)
	values := map[string]any{}
	for name, array := range arrays {
		if name != progressName && name != runName {
			values[name] = array.Value()
		}
	}
	require.Greater(t, len(values), 2)
	return values
}

// Curve is the learning curve in a run's newest checkpoint.
func Curve(run experiments.Run, path string) ([]record.Epoch, error) {
	_, p, err := readCheckpoint(run, path)
	return p.Curve, err
}

// Rewrite changes the arrays and the progress of a checkpoint.
func Rewrite(path string, change func(arrays map[string]*tensors.Tensor, progress map[string]any)) error {
	arrays, err := numpy.FromNpzFile(path)
	if err != nil {
		return err
	}
	text, err := tensors.CopyFlatData[uint8](arrays[progressName])
	if err != nil {
		return err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	change(arrays, fields)
	if text, err = json.Marshal(fields); err != nil {
		return err
	}
	if _, ok := arrays[progressName]; ok {
		arrays[progressName] = tensors.FromValue(text)
	}
	return numpy.ToNpzFile(arrays, path)
}

// AfterStep is what Train does after a step, when it had this loss.
func AfterStep(run experiments.Run, step int, loss float64) error {
	s := &trainingRun{runner: &Runner{Terminal: true}, run: run, ctx: context.Background()}
	metrics := []*tensors.Tensor{tensors.FromScalar(loss), nil, tensors.FromScalar(0.0)}
	return s.onStep(&train.Loop{LoopStep: step - 1}, metrics)
}

// firstBatch is the first batch of a data set.
func firstBatch(t require.TestingT, images *dataset.InMemoryDataset, size int) train.Batch {
	for batch, err := range images.Copy().BatchSize(size, true).Iter() {
		require.NoError(t, err)
		return batch
	}
	require.FailNow(t, "fewer images than a batch has")
	return train.Batch{}
}

// LossOf is the loss that a run is trained with.
var LossOf = lossOf

// Muon's parts.
var (
	NewOptimizer  = newOptimizer
	Orthogonalize = orthogonalize
)

// NeverSilent makes runs without a progress bar write a line after every step, until the test ends.
func NeverSilent(t interface{ Cleanup(func()) }) {
	before := silence
	silence = -1
	t.Cleanup(func() { silence = before })
}
