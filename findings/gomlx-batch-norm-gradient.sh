#!/usr/bin/env bash
# GoMLX 0.28.3: in training, BatchNorm with UseBackendInference(false) takes the batch's mean and
# variance for constants, so its gradient is not the slope of the loss. The Go backend has no other
# batch normalization. Guess before, from the documentation ("only used if training is false"): the
# option changes nothing in training.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, default: op not implemented
go, UseBackendInference(false): gradient 0.46, slope 0.18
xla, default: gradient 0.18, slope 0.18
xla, UseBackendInference(false): gradient 0.46, slope 0.18' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"
)

var cases = []string{"default", "UseBackendInference(false)"}

const cause = "prioritize the work: " // what stands before the cause of an error

// result is the gradient of the first of three normalized numbers by itself, and the slope that two
// neighbours of it give.
func result(backend compute.Backend, how string) any {
	exec := model.MustNewExec(backend, model.NewStore(), func(scope *model.Scope, x *Node) []*Node {
		scope.Store().SetTraining(x.Graph(), true)
		builder := norm.BatchNorm(scope, x, -1)
		if how != "default" {
			builder.UseBackendInference(false)
		}
		first := Slice(builder.Done(), AxisElem(0))
		loss := ReduceAllSum(first)
		return []*Node{loss, Slice(Gradient(loss, x)[0], AxisElem(0))}
	})
	at := func(x float32) (loss, gradient float32) {
		results := exec.MustCall([][]float32{{x}, {2}, {6}})
		return results[0].Value().(float32), results[1].Value().([][]float32)[0][0]
	}
	below, _ := at(0.99)
	above, _ := at(1.01)
	_, gradient := at(1)
	return fmt.Sprintf("gradient %.2f, slope %.2f", gradient, (above-below)/0.02)
}
GO
