#!/usr/bin/env bash
# GoMLX 0.28.3: WithQKRMSNorm of MultiHeadAttention adds 1 to a scale that starts at 1, so that
# queries and keys start with a root mean square of 2, and the scores with four times what they
# should have, on every backend. The networks that it names add 1 to a scale that starts at 0.
# RMSNorm alone starts at 1. Guess before: 1 for both. Here: two opposite positions and heads of
# one unit, so that queries and keys are 1 or −1 times the scale.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, RMSNorm: size 1.00
go, WithQKRMSNorm: size of a score 4.00
xla, RMSNorm: size 1.00
xla, WithQKRMSNorm: size of a score 4.00' <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/attention"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"
)

var cases = []string{"RMSNorm", "WithQKRMSNorm"}

const cause = "panicked: " // what stands before the cause of an error

func result(backend compute.Backend, name string) any {
	seen := model.MustNewExec(backend, model.NewStore(), func(scope *model.Scope, x *Node) *Node {
		if name == "RMSNorm" {
			return Reshape(norm.RMSNorm(scope, x).Done(), 2)
		}
		_, weights := attention.SelfAttention(scope, x, 1, 1).UseProjectionBias(false).
			WithQKRMSNorm(1e-6).DoneWithCoefficients()
		return Reshape(weights, 4)
	}).MustCall([][][]float64{{{1}, {-1}}})[0].Value().([]float64)
	if name == "RMSNorm" {
		return fmt.Sprintf("size %.2f", seen[0])
	}
	// The scores of the first position are opposite.
	return fmt.Sprintf("size of a score %.2f", math.Abs(math.Log(seen[0]/seen[1])/2))
}
GO
