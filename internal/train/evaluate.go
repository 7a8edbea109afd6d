package train

import (
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/experiments"
)

// evaluationBatch divides the sizes of the usual data sets, so that one program serves all batches.
const evaluationBatch = 100

// Scores are class scores of images, one row an image: the logits of the softmax.
type Scores [][]float32

// evaluator computes the class scores of a model, without augmentation and dropout.
type evaluator struct {
	exec *model.Exec
}

// newEvaluator makes the evaluator of a run's network with the variables of a store. It reads the variables at each call, so one
// serves a whole run.
func newEvaluator(backend compute.Backend, store *model.Store, run experiments.Run) (*evaluator, error) {
	exec, err := model.NewExec(backend, store, func(scope *model.Scope, images *Node) []*Node {
		pass := run.Network.Forward(scope, run.Hyper.Hyper, images)
		return []*Node{pass.Scores, pass.Penalty}
	})
	if err != nil {
		return nil, fmt.Errorf("building the network: %w", err)
	}
	return &evaluator{exec}, nil
}

// score computes the class scores of images [N, H, W, C], and the penalty of Eq. (train_obj2).
func (e *evaluator) score(images *tensors.Tensor) (scores Scores, penalty float64, err error) {
	outputs, err := e.exec.Call(images)
	if err != nil {
		return nil, 0, fmt.Errorf("computing class scores: %w", err)
	}
	return outputs[0].Value().([][]float32), float64(tensors.ToScalar[float32](outputs[1])), finalize(outputs...)
}

// scores computes the class scores of the first `count` images in order, and the penalty of Eq. (train_obj2). It stops with
// ctx's cause.
func (e *evaluator) scores(ctx context.Context, images *dataset.InMemoryDataset, count int) (scores Scores, penalty float64, err error) {
	for batch, err := range images.Copy().BatchSize(min(evaluationBatch, count), false).Iter() {
		if err != nil {
			return nil, 0, fmt.Errorf("reading images: %w", err)
		}
		some, penaltyNow, err := e.score(batch.Inputs[0])
		if err != nil {
			return nil, 0, err
		}
		scores, penalty = append(scores, some...), penaltyNow
		if err := finalize(slices.Concat(batch.Inputs, batch.Labels)...); err != nil {
			return nil, 0, err
		}
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if len(scores) >= count {
			break
		}
	}
	return scores[:min(count, len(scores))], penalty, nil
}

// finalize frees tensors now, without waiting for the garbage collector.
func finalize(all ...*tensors.Tensor) error {
	for _, tensor := range all {
		if err := tensor.FinalizeAll(); err != nil {
			return fmt.Errorf("freeing a tensor: %w", err)
		}
	}
	return nil
}

// Predictions are the classes with the highest scores.
func (s Scores) Predictions() []uint8 {
	predictions := make([]uint8, len(s))
	for i, row := range s {
		best := 0
		for class, score := range row {
			if score > row[best] {
				best = class
			}
		}
		predictions[i] = uint8(best)
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
