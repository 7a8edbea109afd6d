#!/usr/bin/env bash
# GoMLX 0.28.3 on the Go backend: the gradient of GatherSlices along another axis than the first
# goes to other elements than those that were taken, and there is no error. XLA's is what finite
# differences say, as are the values and the gradient along the first axis on both. Guess before:
# the finite differences on both backends. Here: of two rows of three numbers, two rows or two
# columns are taken, and summed up, weighted by 1, 2, 3 and so on.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_gradients 'go, rows: gradient [1 2 3 4 5 6], by differences [1 2 3 4 5 6]
go, columns: gradient [1 5 4 0 0 0], by differences [1 3 0 2 4 0]
xla, rows: gradient [1 2 3 4 5 6], by differences [1 2 3 4 5 6]
xla, columns: gradient [1 3 0 2 4 0], by differences [1 3 0 2 4 0]' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

type kind string

var cases = []kind{"rows", "columns"}

func cost(x *Node, of kind) *Node {
	x = Reshape(x, 2, 3)
	starts := Const(x.Graph(), [][]int32{{0}, {1}})
	axis := 0
	if of == "columns" {
		axis = 1
	}
	y := Reshape(GatherSlices(x, []int{axis}, starts, []int{1}, false), -1)
	return ReduceAllSum(Mul(y, OnePlus(Iota(y.Graph(), y.Shape(), 0))))
}
GO
