#!/usr/bin/env bash
# GoMLX 0.28.3: the peephole weights of package lstm are added to the gates as they are, like
# biases, and never multiplied by the cell's state, on every backend. So no gate sees the cell,
# which is what peepholes are for (Gers and Schmidhuber, 2000; input P of ONNX's LSTM), and weights
# of another program give other states, without an error. Guess before: they multiply the cell's
# state. Here: a cell of one unit with all other weights 0 and peepholes of 1, after one step.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, from -2: -1.462, by the formula -0.238
go, from 0: 0.000, by the formula 0.000
go, from 2: 1.462, by the formula 1.762
xla, from -2: -1.462, by the formula -0.238
xla, from 0: 0.000, by the formula 0.000
xla, from 2: 1.462, by the formula 1.762' <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/lstm"
)

type from float64

func (f from) String() string { return fmt.Sprintf("from %v", float64(f)) }

var cases = []from{-2, 0, 2}

const cause = "panicked: " // what stands before the cause of an error

// result is the cell's state after one step from a state.
func result(backend compute.Backend, state from) any {
	cell := MustNewExec(backend, func(x *Node) *Node {
		g := x.Graph()
		zeros := Const(g, [][][][]float64{{{{0}}, {{0}}, {{0}}, {{0}}}})
		biases := Const(g, [][][]float64{{{0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}}})
		peepholes := Const(g, [][][]float64{{{1}, {1}, {1}}})
		_, _, cell := lstm.NewWithWeights(x, zeros, zeros, biases, peepholes).InitialStates(
			Const(g, [][][]float64{{{0}}}), Const(g, [][][]float64{{{float64(state)}}})).Done()
		return ReduceAllSum(cell)
	}).MustCall1([][][]float64{{{0}}}).Value()
	forget := 1 / (1 + math.Exp(-float64(state)))
	return fmt.Sprintf("%.3f, by the formula %.3f", cell, forget*float64(state))
}
GO
