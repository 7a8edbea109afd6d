#!/usr/bin/env bash
# GoMLX 0.28.3: if one prediction of a batch equals its label, the gradient of
# loss.EuclideanDistance by that prediction is NaN on every backend, and so are then all weights,
# without an error. The loss itself is right. TripletLoss, in the same package, guards its square
# root; this loss does not. Guess before: the gradient is 0 there, as PyTorch's for norms.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, EuclideanDistance: loss 2.5, gradient [[NaN NaN] [0.3 0.4]]
go, EuclideanDistanceSquare: loss 12.5, gradient [[-0 -0] [3 4]]
xla, EuclideanDistance: loss 2.5, gradient [[NaN NaN] [0.3 0.4]]
xla, EuclideanDistanceSquare: loss 12.5, gradient [[-0 -0] [3 4]]' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/train/loss"
)

var cases = []string{"EuclideanDistance", "EuclideanDistanceSquare"}

const cause = "panicked: " // what stands before the cause of an error

// result is of two predictions: the first equals its label, the second is 5 away.
func result(backend compute.Backend, name string) any {
	compute := loss.EuclideanDistance
	if name == "EuclideanDistanceSquare" {
		compute = loss.EuclideanDistanceSquare
	}
	both := MustNewExec(backend, func(x *Node) []*Node {
		y := compute([]*Node{Const(x.Graph(), [][]float64{{1, 2}, {3, 4}})}, []*Node{x})
		return []*Node{y, Gradient(y, x)[0]}
	}).MustCall([][]float64{{1, 2}, {6, 8}})
	return fmt.Sprintf("loss %v, gradient %.3g", both[0].Value(), both[1].Value())
}
GO
