package training

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/dataset"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc"
)

// evaluationBatch divides the sizes of the usual data sets, so that one program serves all batches.
const evaluationBatch = 100

// Scores are class scores of images, one row an image: the logits of the softmax.
type Scores [][]float32

// Predict computes the scores of all images in order, without augmentation and dropout. It stops with ctx's cause.
func Predict(ctx context.Context, backend compute.Backend, store *model.Store, network ebssc.Network, images *dataset.InMemoryDataset) (Scores, error) {
	exec, err := model.NewExec(backend, store, func(scope *model.Scope, images *Node) *Node {
		return network.Forward(scope, images).Scores
	})
	if err != nil {
		return nil, fmt.Errorf("building the network: %w", err)
	}
	defer exec.Finalize()
	var scores Scores
	for batch, err := range images.Copy().BatchSize(evaluationBatch, false).Iter() {
		if err != nil {
			return nil, fmt.Errorf("reading images: %w", err)
		}
		output, err := exec.Call1(batch.Inputs[0])
		if err != nil {
			return nil, fmt.Errorf("computing class scores: %w", err)
		}
		scores = append(scores, output.Value().([][]float32)...)
		if err := finalize(slices.Concat(batch.Inputs, batch.Labels, []*tensors.Tensor{output})...); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return scores, nil
}

// finalize frees tensors now rather than when the garbage collector comes by.
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

// ErrorRate is the share of images, in percent, whose highest score is not their label's.
func (s Scores) ErrorRate(labels []uint8) float64 {
	wrong := 0
	for i, class := range s.Predictions() {
		if class != labels[i] {
			wrong++
		}
	}
	return 100 * float64(wrong) / float64(len(s))
}

// Objective is the mean softmax log-loss, Eq. (train_obj2) without its regulariser, in nats.
func (s Scores) Objective(labels []uint8) float64 {
	var sum float64
	for i, row := range s {
		highest := float64(row[0])
		for _, score := range row {
			highest = math.Max(highest, float64(score))
		}
		var total float64
		for _, score := range row {
			total += math.Exp(float64(score) - highest)
		}
		sum += highest + math.Log(total) - float64(row[labels[i]])
	}
	return sum / float64(len(s))
}
