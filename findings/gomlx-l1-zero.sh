#!/usr/bin/env bash
# GoMLX 0.28.3: regularizer.L1(amount) sets every weight below the amount to 0 after each step,
# whatever the learning rate. With Adam, whose steps are the rate at most, a weight that starts at
# 0 then never leaves it if the rate is below the amount, however much the loss asks for it. This
# happens at usual values, such as 0.001 and 0.01, and initial weights below the amount are gone
# after the first step. Proximal methods, and others that set weights to 0, take the rate times the
# amount. Guess before: the weight grows, by a little less than without the regularizer. Here: one
# weight, the loss (w − 3)², 100 steps of Adam at rate 0.001.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, L1(0): 0.099
go, L1(0.0005): 0.099
go, L1(0.01): 0.000
xla, L1(0): 0.099
xla, L1(0.0005): 0.099
xla, L1(0.01): 0.000' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers/regularizer"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

type l1 float64

func (amount l1) String() string { return fmt.Sprintf("L1(%v)", float64(amount)) }

var cases = []l1{0, 0.0005, 0.01}

const cause = "panicked: " // what stands before the cause of an error

// result is the weight after 100 steps from 0.
func result(backend compute.Backend, amount l1) any {
	store := model.NewStore()
	network := func(scope *model.Scope, x *Node) *Node {
		weight := scope.VariableWithValue("weight", float32(0))
		if regularize := regularizer.L1(float64(amount)); regularize != nil {
			regularize(x.Graph(), weight)
		}
		return Mul(x, weight.NodeValue(x.Graph()))
	}
	trainer := train.NewTrainer(backend, store, network, loss.MeanSquaredError,
		optimizer.Adam().LearningRate(0.001).Done(), nil, nil)
	for range 100 {
		if _, err := trainer.TrainStep(train.Batch{
			Inputs: []*tensors.Tensor{tensors.FromValue([]float32{1})},
			Labels: []*tensors.Tensor{tensors.FromValue([]float32{3})}}); err != nil {
			panic(err)
		}
	}
	return fmt.Sprintf("%.3f", store.GetVariable("/weight").MustValue().Value())
}
GO
