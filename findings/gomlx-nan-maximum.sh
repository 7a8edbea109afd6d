#!/usr/bin/env bash
# GoMLX 0.28.3 × go-xla 0.4.2: on XLA's CPU the maximum of 1, NaN and 3 is 3, ArgMax points at the 3,
# and the maximum of NaN alone is -inf; the Go backend gives NaN and its place. So where scores are
# NaN, XLA predicts a class all the same, which may count as right. The sum is NaN on both, and with
# XLA_FLAGS=--xla_cpu_enable_fast_min_max=false all is as on the Go backend. Guess before: NaN and its
# place on both.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, maximum: NaN
go, place: 1
go, maximum of NaN alone: NaN
go, sum: NaN
xla, maximum: 3
xla, place: 2
xla, maximum of NaN alone: -Inf
xla, sum: NaN' <<'GO'
package main

import (
	"math"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"maximum", "place", "maximum of NaN alone", "sum"}

const cause = "panicked: "

func result(backend compute.Backend, what string) any {
	nan := float32(math.NaN())
	values := []float32{1, nan, 3}
	if what == "maximum of NaN alone" {
		values = []float32{nan, nan, nan}
	}
	return MustNewExec(backend, func(x *Node) *Node {
		switch what {
		case "place":
			return ArgMax(x, 0)
		case "sum":
			return ReduceAllSum(x)
		}
		return ReduceAllMax(x)
	}).MustCall1(values).Value()
}
GO
