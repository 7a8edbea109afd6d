#!/usr/bin/env bash
# GoMLX 0.28.3: the Go backend adds float32 one by one into a float32, so a sum of ones stops at
# 16777216, and the mean of 30 million ones is 0.56. XLA (go-xla 0.4.2) is right: it adds in parts.
# Guess before: 30000000 on both.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, sum: 1.6777216e+07
go, mean: 0.5592405
xla, sum: 3e+07
xla, mean: 1' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"sum", "mean"}

const cause = "panicked: "

func result(backend compute.Backend, what string) any {
	return MustNewExec(backend, func(one *Node) *Node {
		ones := BroadcastToDims(one, 30_000_000)
		if what == "mean" {
			return ReduceAllMean(ones)
		}
		return ReduceAllSum(ones)
	}).MustCall1(float32(1)).Value()
}
GO
