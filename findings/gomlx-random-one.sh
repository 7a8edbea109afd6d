#!/usr/bin/env bash
# GoMLX 0.28.3: RandomUniform says that 1 is never returned. In bfloat16 and float16 it rounds
# float32 numbers, and one in 512 and one in 4,096 becomes 1, on every backend. So the logarithm of
# 1 minus such a number is infinite, and whoever takes it as an index is one too far. float32 and
# float64 are right. Guess before: never 1. Here: whether one of a million is.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, BFloat16: 1 is drawn: true
go, Float16: 1 is drawn: true
go, Float32: 1 is drawn: false
go, Float64: 1 is drawn: false
xla, BFloat16: 1 is drawn: true
xla, Float16: 1 is drawn: true
xla, Float32: 1 is drawn: false
xla, Float64: 1 is drawn: false' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []dtypes.DType{dtypes.BFloat16, dtypes.Float16, dtypes.Float32, dtypes.Float64}

const cause = "panicked: " // what stands before the cause of an error

func result(backend compute.Backend, kind dtypes.DType) any {
	largest := MustNewExec(backend, func(g *Graph) *Node {
		_, numbers := RandomUniform(RNGStateFromSeedForGraph(g, 1), shapes.Make(kind, 1_000_000))
		return ReduceAllMax(ConvertDType(numbers, dtypes.Float64))
	}).MustCall1().Value()
	return fmt.Sprintf("1 is drawn: %v", largest == 1.0)
}
GO
