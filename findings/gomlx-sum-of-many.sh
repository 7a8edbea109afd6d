#!/usr/bin/env bash
# GoMLX 0.28.3 × go-xla 0.4.2: float32 that are added one by one into a float32 stop at 16777216 where
# each is 1. On the Go backend ReduceSum and ReduceMean do so, on XLA's CPU the product of two vectors:
# each is right in what the other is not. Guess before: 30000000 everywhere.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, sum: 1.6777216e+07
go, mean: 0.5592405
go, product: 3e+07
xla, sum: 3e+07
xla, mean: 1
xla, product: 1.6777216e+07' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"sum", "mean", "product"}

const cause = "panicked: "

// result is the sum or mean of 30 million ones, or their product with themselves.
func result(backend compute.Backend, what string) any {
	return MustNewExec(backend, func(one *Node) *Node {
		ones := BroadcastToDims(one, 30_000_000)
		switch what {
		case "mean":
			return ReduceAllMean(ones)
		case "product":
			return DotProduct(ones, ones)
		}
		return ReduceAllSum(ones)
	}).MustCall1(float32(1)).Value()
}
GO
