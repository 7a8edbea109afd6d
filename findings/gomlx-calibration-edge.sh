#!/usr/bin/env bash
# GoMLX 0.28.3: PieceWiseLinearCalibration counts the first output twice for an input that is
# exactly the first keypoint, on every backend and without an error: the smallest value, which
# features such as counts have most often, is calibrated to twice what its neighbours on both sides
# are. It shows once the outputs are trained, as the first one starts at 0. The cascaded variant is
# right. Guess before: continuous. Here: keypoints 0, 1, 2 with outputs 1, 2, 4.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, of -1: 1
go, of 0: 2
go, of 0.001: 1.001
go, of 1: 2
go, of 2: 4
xla, of -1: 1
xla, of 0: 2
xla, of 0.001: 1.001
xla, of 1: 2
xla, of 2: 4' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
)

type input float64

func (x input) String() string { return fmt.Sprintf("of %v", float64(x)) }

var cases = []input{-1, 0, 0.001, 1, 2}

const cause = "panicked: " // what stands before the cause of an error

func result(backend compute.Backend, x input) any {
	store := model.NewStore()
	calibrate := model.MustNewExec(backend, store, func(scope *model.Scope, x *Node) *Node {
		keypoints := Const(x.Graph(), []float64{0, 1, 2})
		return layers.PieceWiseLinearCalibration(scope, x, keypoints, true)
	})
	calibrate.MustCall([]float64{float64(x)}) // makes the variable
	store.GetVariable("/piece_wise_linear/output_keypoints").MustSetValue(
		tensors.FromValue([]float64{1, 2, 4}))
	return calibrate.MustCall([]float64{float64(x)})[0].Value().([]float64)[0]
}
GO
