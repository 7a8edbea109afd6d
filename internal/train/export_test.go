package train

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// Parts that tests look at.
var (
	NewOptimizer  = newOptimizer
	Orthogonalize = orthogonalize
	WriteArrays   = writeArrays
	Halved        = func(x *tensors.Tensor) *tensors.Tensor { return converted(x, halved) }
	Silence       = &silence
)

// Sealed returns the checkpoint with these arrays.
func Sealed(arrays []byte) []byte {
	return fmt.Appendf(nil, "%s%s\n%s", checkpointHead, safefile.Sum(arrays), arrays)
}

// CheckpointFiles returns the paths of a run's newest checkpoint and the one before it.
func CheckpointFiles(folder string, run experiments.Run) (newest, previous string) {
	return filepath.Join(folder, run.ID()+newestSuffix), filepath.Join(folder, run.ID()+previousSuffix)
}

// newTrainingRun returns a run before its first step.
func newTrainingRun(runner *Runner, run experiments.Run) *trainingRun {
	return &trainingRun{runner: runner, run: run, ctx: context.Background(),
		progress: progress{ID: run.ID(), Origin: runner.Origin}}
}

// LoadCheckpoint returns the model in a checkpoint of a run.
func LoadCheckpoint(
	backend compute.Backend, run experiments.Run, path string,
) (*model.Store, error) {
	s := newTrainingRun(&Runner{Backend: backend}, run)
	err := s.load(path)
	return s.store, err
}

// Restore makes the model of a run from its checkpoints as Train does. It returns the step that it
// would go on from, and what is said.
func Restore(
	backend compute.Backend, folder string, run experiments.Run,
) (step int, log string, err error) {
	var said bytes.Buffer
	s := newTrainingRun(&Runner{Backend: backend, Log: &said, Checkpoints: folder}, run)
	if err := s.restore(); err != nil {
		return 0, said.String(), err
	}
	defer s.store.Finalize()
	return int(optimizer.GetGlobalStep(s.store)), said.String(), nil
}

// Augment calls augment, as in training, in a graph of its own.
func Augment(
	backend compute.Backend, h experiments.Hyper, images *tensors.Tensor,
) (*tensors.Tensor, error) {
	store := model.NewStore()
	if err := seed(store, augmentationState, 1); err != nil {
		return nil, err
	}
	exec, err := model.NewExec(backend, store, func(scope *model.Scope, images *Node) *Node {
		store.SetTraining(images.Graph(), true)
		return augment(scope, h, images)
	})
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	return exec.Call1(images)
}

// Order returns the order in which a run trains on its images in an epoch.
func Order(
	t require.TestingT, backend compute.Backend, run experiments.Run, epoch int,
) (order []int32) {
	for i := range run.TrainImages {
		order = append(order, int32(i))
	}
	images, err := dataset.InMemoryFromData(backend, "numbers", []any{order}, []any{order})
	require.NoError(t, err)
	order = nil
	batches := trainingBatches{&trainingRun{run: run,
		uploaded: &uploaded{train: labelled{InMemoryDataset: images}},
		progress: progress{Curve: make([]record.Epoch, epoch)}}}
	for batch, err := range batches.Iter() {
		require.NoError(t, err)
		order = append(order, tensors.MustCopyFlatData[int32](batch.Labels[0])...)
		if len(order) == run.TrainImages {
			break
		}
	}
	return order
}

// TakeSteps takes steps from the start of a run. `after` gets Adam's rate and the network's
// variables after each.
func TakeSteps(
	t require.TestingT, runner *Runner, run experiments.Run, steps int,
	after func(rate float64, variable func(name string) []float32),
) {
	s := newTrainingRun(runner, run)
	var err error
	s.uploaded, err = runner.images(context.Background(), run)
	require.NoError(t, err)
	defer s.uploaded.finalize()
	s.store = newStore(run)
	defer s.store.Finalize()
	require.NoError(t, seedEpoch(s.store, run, 0))
	loop := train.NewLoop(s.newTrainer())
	defer loop.Trainer.ResetComputationGraphs()
	loop.OnStep("after", 0, func(*train.Loop, []*tensors.Tensor) error {
		rate := optimizer.LearningRateVar(s.store.RootScope(), dtypes.Float32, 0).MustValue()
		variable := func(name string) []float32 {
			return tensors.MustCopyFlatData[float32](run.Network.Variables(s.store)[name])
		}
		after(float64(tensors.ToScalar[float32](rate)), variable)
		return nil
	})
	_, err = loop.RunSteps(trainingBatches{s}, steps)
	require.NoError(t, err)
}

// looked is a context that calls a function when training looks at it, as it does after each step.
type looked struct {
	context.Context
	at func()
}

// Err calls the function and returns nil.
func (l looked) Err() error {
	l.at()
	return nil
}

// TrainWithDeadFilter takes a run's steps as Train does, and puts a NaN into a variable after one.
func TrainWithDeadFilter(runner *Runner, run experiments.Run, name string, step int) (err error) {
	s := newTrainingRun(runner, run)
	if s.uploaded, err = runner.images(context.Background(), run); err != nil {
		return err
	}
	defer s.uploaded.finalize()
	s.ctx = looked{context.Background(), func() {
		if s.taken() != step {
			return
		}
		v := run.Network.Variables(s.store)[name]
		tensors.MustMutableFlatData(v, func(flat []float32) { flat[0] = float32(math.NaN()) })
	}}
	return s.takeSteps()
}
