#!/usr/bin/env bash
# GoMLX 0.28.3: WithLinearScaling of RoPE divides positions as integers, on every backend and
# without an error. With the factor 4 the positions 0 to 3 all become 0, and 2.5 divides like 2. So
# attention cannot tell neighbours apart, and a network that learnt with scaled positions, such as
# Gemma 3, gets other ones. Positions in float32 are divided right, but SequentialPositions, which
# MultiHeadAttention and the transformer use, gives int32. Guess before, from the documentation
# ("positional indices are divided by this factor"): a quarter of the angle. Here: the angles,
# modulo 2π, by which the queries of eight positions are turned.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, Int32, factor 1: [0.00 1.00 2.00 3.00 4.00 5.00 6.00 0.72]
go, Int32, factor 4: [0.00 0.00 0.00 0.00 1.00 1.00 1.00 1.00]
go, Int32, factor 2.5: [0.00 0.00 1.00 1.00 2.00 2.00 3.00 3.00]
go, Float32, factor 4: [0.00 0.25 0.50 0.75 1.00 1.25 1.50 1.75]
xla, Int32, factor 1: [0.00 1.00 2.00 3.00 4.00 5.00 6.00 0.72]
xla, Int32, factor 4: [0.00 0.00 0.00 0.00 1.00 1.00 1.00 1.00]
xla, Int32, factor 2.5: [0.00 0.00 1.00 1.00 2.00 2.00 3.00 3.00]
xla, Float32, factor 4: [0.00 0.25 0.50 0.75 1.00 1.25 1.50 1.75]' <<'GO'
package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/attention/pos"
)

type scaling struct {
	factor    float64
	positions dtypes.DType
}

func (s scaling) String() string { return fmt.Sprintf("%v, factor %v", s.positions, s.factor) }

var cases = []scaling{
	{1, dtypes.Int32}, {4, dtypes.Int32}, {2.5, dtypes.Int32}, {4, dtypes.Float32},
}

const cause = "panicked: " // what stands before the cause of an error

// result tells by how much RoPE turns the queries of eight positions.
func result(backend compute.Backend, one scaling) any {
	rope := pos.NewRoPE(10000).WithLinearScaling(one.factor)
	turned := MustNewExec(backend, func(x *Node) *Node {
		positions := pos.SequentialPositions(x.Graph(), ScalarZero(x.Graph(), dtypes.Int32), 8)
		query, _ := rope.EncodeQK(x, x, ConvertDType(positions, one.positions), 0)
		return query
	}).MustCall1(slices.Repeat([][]float32{{1, 0}}, 8))
	var angles []float64
	for _, query := range turned.Value().([][]float32) {
		angle := math.Atan2(float64(query[1]), float64(query[0]))
		if angle < 0 {
			angle += 2 * math.Pi
		}
		angles = append(angles, angle)
	}
	return fmt.Sprintf("%.2f", angles)
}
GO
