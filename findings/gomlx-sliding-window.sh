#!/usr/bin/env bash
# GoMLX 0.28.3: WithSlidingWindow of MultiHeadAttention does nothing beside WithCausalMask alone:
# each position sees all before it, on every backend, without an error. Only with one more mask, be
# it all true, is the window heeded. So a network with local attention trains and answers as one
# with global attention. Guess before: with a window of 2 each position sees itself and the one
# before. Here: the largest distance that has a weight in the attention of 5 positions.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, causal: 4
go, causal, window 2: 4
go, causal, window 2, mask of true: 1
xla, causal: 4
xla, causal, window 2: 4
xla, causal, window 2, mask of true: 1' <<'GO'
package main

import (
	"strings"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/attention"
	"github.com/gomlx/gomlx/ml/model"
)

var cases = []string{"causal", "causal, window 2", "causal, window 2, mask of true"}

const cause = "panicked: " // what stands before the cause of an error

// result is the largest distance between two positions of which one sees the other.
func result(backend compute.Backend, with string) any {
	weights := model.MustNewExec(backend, model.NewStore(), func(scope *model.Scope, x *Node) *Node {
		layer := attention.SelfAttention(scope, x, 1, 2).WithCausalMask(true)
		if strings.Contains(with, "window") {
			layer = layer.WithSlidingWindow(2)
		}
		if strings.Contains(with, "mask of true") {
			layer = layer.WithMask(Const(x.Graph(), [][]bool{{true, true, true, true, true}}))
		}
		_, weights := layer.DoneWithCoefficients()
		return Reshape(weights, 5, 5)
	}).MustCall([][][]float32{{{1, 0}, {0, 1}, {1, 1}, {2, 1}, {0, 2}}})[0].Value().([][]float32)
	largest := 0
	for i, row := range weights {
		for j, weight := range row {
			if weight > 0 {
				largest = max(largest, i-j)
			}
		}
	}
	return largest
}
GO
