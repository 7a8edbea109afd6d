#!/usr/bin/env bash
# GoMLX 0.28.3: Adam and RMSProp compute in the type of the loss, their constants included. With a
# loss in bfloat16 the second decay, 0.999, rounds to 1, so that the correction divides by 0 and
# all weights are NaN after the first step, on every backend and without an error; a larger
# epsilon, which the documentation proposes for low precision, does not help. DType(Float32) does,
# as do Adamax and SGD without it. Guess before: coarse steps of about the learning rate. Here: the
# loss (w − 3)², one step from 0 at rate 0.125.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, Adam: NaN
go, Adam, epsilon 0.001: NaN
go, Adam in float32: 0.125
go, Adamax: 0.126
go, RMSProp: NaN
xla, Adam: NaN
xla, Adam, epsilon 0.001: NaN
xla, Adam in float32: 0.125
xla, Adamax: 0.126
xla, RMSProp: NaN' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"
)

var optimizers = map[string]*optimizer.AdamConfig{
	"Adam":                optimizer.Adam(),
	"Adam, epsilon 0.001": optimizer.Adam().Epsilon(0.001),
	"Adam in float32":     optimizer.Adam().DType(dtypes.Float32),
	"Adamax":              optimizer.Adam().Adamax(),
	"RMSProp":             optimizer.RMSProp(),
}

var cases = []string{"Adam", "Adam, epsilon 0.001", "Adam in float32", "Adamax", "RMSProp"}

const cause = "panicked: " // what stands before the cause of an error

// result is the weight after one step from 0.
func result(backend compute.Backend, name string) any {
	store := model.NewStore()
	network := func(scope *model.Scope, x *Node) *Node {
		weight := scope.VariableWithValue("weight", bfloat16.FromFloat32(0))
		return Mul(x, weight.NodeValue(x.Graph()))
	}
	trainer := train.NewTrainer(backend, store, network, loss.MeanSquaredError,
		optimizers[name].LearningRate(0.125).Done(), nil, nil)
	number := func(x float32) []*tensors.Tensor {
		return []*tensors.Tensor{tensors.FromValue([]bfloat16.BFloat16{bfloat16.FromFloat32(x)})}
	}
	if _, err := trainer.TrainStep(train.Batch{Inputs: number(1), Labels: number(3)}); err != nil {
		panic(err)
	}
	weight := store.GetVariable("/weight").MustValue().Value().(bfloat16.BFloat16)
	return fmt.Sprintf("%.3f", weight.Float32())
}
GO
