package training

import (
	"context"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
)

// EvaluationBatch is the number of images that are evaluated together.
const EvaluationBatch = evaluationBatch

// TimeSteps takes as many training steps as an epoch has on a batch that lies on the device: seconds of each.
func TimeSteps(t require.TestingT, lab *Lab, run experiments.Run) (seconds []float64) {
	store := newStore(run)
	defer store.Finalize()
	require.NoError(t, store.SetRNGStateFromSeed(1))
	trainer := train.NewTrainer(lab.Backend, store, (&session{run: run}).graph, loss.SparseCategoricalCrossEntropyLogits, optimizer.Adam().Done(), nil, nil)
	defer trainer.ResetComputationGraphs()
	batch := firstBatch(t, lab.prepared.train, run.Batch())
	for range 1 + run.StepsPerEpoch() {
		images, err := batch.Inputs[0].OnDeviceClone(lab.Backend, 0)
		require.NoError(t, err)
		labels, err := batch.Labels[0].OnDeviceClone(lab.Backend, 0)
		require.NoError(t, err)
		began := time.Now()
		metrics, err := trainer.TrainStep(train.Batch{Inputs: []*tensors.Tensor{images}, Labels: []*tensors.Tensor{labels}})
		require.NoError(t, err)
		tensors.ToScalar[float32](metrics[0])
		seconds = append(seconds, time.Since(began).Seconds())
		require.NoError(t, finalize(metrics...))
	}
	return seconds[1:] // the first one compiles
}

// TimeEvaluations evaluates the test images several times, and a batch of them as often as there are batches: seconds
// of each evaluation and of each batch.
func TimeEvaluations(t require.TestingT, lab *Lab, run experiments.Run) (evaluations, inferences []float64) {
	store := newStore(run)
	defer store.Finalize()
	evaluator, err := newEvaluator(lab.Backend, store, run.Network)
	require.NoError(t, err)
	defer evaluator.exec.Finalize()
	batch := firstBatch(t, lab.prepared.test, EvaluationBatch)
	for range 1 + 3 {
		began := time.Now()
		_, _, err := evaluator.scores(context.Background(), lab.prepared.test, run.TestImages)
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

// firstBatch is the first batch of a data set.
func firstBatch(t require.TestingT, images *dataset.InMemoryDataset, size int) train.Batch {
	for batch, err := range images.Copy().BatchSize(size, true).Iter() {
		require.NoError(t, err)
		return batch
	}
	require.FailNow(t, "fewer images than a batch has")
	return train.Batch{}
}
