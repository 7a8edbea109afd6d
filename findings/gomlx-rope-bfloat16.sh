#!/usr/bin/env bash
# GoMLX 0.28.3: RoPE computes in the type of the queries, positions included, on every backend and
# without an error. bfloat16 holds all whole numbers up to 256, then every second, every fourth and
# so on. So from there on neighbours get the same rotation, and attention knows nothing of their
# order; float16 gets there at 2048. Guess before: one radian from each position to the next, within
# rounding. Here: the angle between a position and the next one, for 10, 100, 300, 1000, 2000 and
# 3001.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, Float32: [1.00 1.00 1.00 1.00 1.00 1.00]
go, Float16: [1.00 1.00 1.00 1.00 1.00 2.00]
go, BFloat16: [1.00 1.00 0.00 0.00 0.00 0.00]
xla, Float32: [1.00 1.00 1.00 1.00 1.00 1.00]
xla, Float16: [1.00 1.00 1.00 1.00 1.00 2.00]
xla, BFloat16: [1.00 1.00 0.00 0.00 0.00 0.00]' <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/attention/pos"
)

var cases = []dtypes.DType{dtypes.Float32, dtypes.Float16, dtypes.BFloat16}

const cause = "panicked: " // what stands before the cause of an error

// result tells by how much RoPE turns the query of a position more than that of the one before.
func result(backend compute.Backend, dtype dtypes.DType) any {
	turn := MustNewExec(backend, func(start *Node) *Node {
		positions := pos.SequentialPositions(start.Graph(), start, 2)
		x := ConvertDType(Const(start.Graph(), [][]float32{{1, 0}, {1, 0}}), dtype)
		query, _ := pos.NewRoPE(10000).EncodeQK(x, x, positions, 0)
		return ConvertDType(query, dtypes.Float32)
	})
	var angles []float64
	for _, start := range []int32{10, 100, 300, 1000, 2000, 3001} {
		queries := turn.MustCall1(start).Value().([][]float32)
		angle := func(x []float32) float64 { return math.Atan2(float64(x[1]), float64(x[0])) }
		angles = append(angles, math.Remainder(angle(queries[1])-angle(queries[0]), 2*math.Pi))
	}
	return fmt.Sprintf("%.2f", angles)
}
GO
