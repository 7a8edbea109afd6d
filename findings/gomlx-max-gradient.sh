#!/usr/bin/env bash
# GoMLX 0.28.3: the gradient of ReduceMax goes whole to each number that is the largest: of three
# equal numbers it is 1 1 1, which sums to 3. That of MaxPool and of Max goes to one of them. So the
# same pooling, written in two ways, trains differently where zeros of a ReLU tie. Guess before: it
# sums to 1.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, ReduceMax: [1 1 1]
go, MaxPool: [1 0 0]
go, Max of two: [1 0 0]
xla, ReduceMax: [1 1 1]
xla, MaxPool: [1 0 0]
xla, Max of two: [1 0 0]' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"ReduceMax", "MaxPool", "Max of two"}

const cause = "panicked: "

// result is the gradient of the maximum of equal numbers by each of them.
func result(backend compute.Backend, what string) any {
	return MustNewExec(backend, func(x *Node) *Node {
		var maximum *Node
		switch what {
		case "ReduceMax":
			maximum = ReduceAllMax(x)
		case "MaxPool":
			maximum = ReduceAllSum(MaxPool(Reshape(x, 1, 3, 1)).Window(3).Done())
		default:
			maximum = Max(Slice(x, AxisElem(0)), Slice(x, AxisElem(1)))
			maximum = ReduceAllSum(maximum)
		}
		return Gradient(maximum, x)[0]
	}).MustCall1([]float32{2, 2, 2}).Value()
}
GO
