#!/usr/bin/env bash
# GoMLX 0.28.3: loss.BinaryCrossentropy of a prediction that is certain and right is NaN: it
# multiplies the logarithm of 0 by 0. A sigmoid of a float32 is 1 from about 17 on, so a well trained
# classifier gets there. BinaryCrossentropyLogits is right. Guess before: 0.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, of sigmoid(10): 4.5419773e-05
go, of sigmoid(20): NaN
go, of logit 20: 2.0611537e-09
xla, of sigmoid(10): 4.5419773e-05
xla, of sigmoid(20): NaN
xla, of logit 20: 2.0611537e-09' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/train/loss"
)

var cases = []string{"of sigmoid(10)", "of sigmoid(20)", "of logit 20"}

const cause = "panicked: "

// result is the loss of one prediction whose label is 1.
func result(backend compute.Backend, what string) any {
	return MustNewExec(backend, func(logits *Node) *Node {
		labels := []*Node{OnesLike(logits)}
		if what == "of logit 20" {
			return loss.BinaryCrossentropyLogits(labels, []*Node{logits})
		}
		return loss.BinaryCrossentropy(labels, []*Node{Sigmoid(logits)})
	}).MustCall1(map[string][]float32{cases[0]: {10}, cases[1]: {20}, cases[2]: {20}}[what]).Value()
}
GO
