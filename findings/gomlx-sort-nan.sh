#!/usr/bin/env bash
# GoMLX 0.28.3: with a NaN among the values, Sort and TopK of the Go backend misplace the others:
# they come unsorted, and the largest is missing. XLA (go-xla 0.4.2) sorts the NaN behind all
# numbers. Guess before: the place of the NaN differs, the numbers are sorted on both.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, sort: [2 NaN 1]
go, top 2: [1 NaN]
xla, sort: [1 2 NaN]
xla, top 2: [NaN 3]' <<'GO'
package main

import (
	"math"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"sort", "top 2"}

const cause = "panicked: "

// result sorts 2, NaN, 1 upwards, or takes the largest two of 1, NaN, 2, 3.
func result(backend compute.Backend, what string) any {
	nan := float32(math.NaN())
	if what == "sort" {
		return MustNewExec(backend, func(x *Node) *Node { return Sort(x, -1, true) }).
			MustCall1([]float32{2, nan, 1}).Value()
	}
	return MustNewExec(backend, func(x *Node) *Node {
		values, _ := TopK(x, 2, -1)
		return values
	}).MustCall1([]float32{1, nan, 2, 3}).Value()
}
GO
