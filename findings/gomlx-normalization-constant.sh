#!/usr/bin/env bash
# GoMLX 0.28.3: dataset.Normalization subtracts the squared mean from the mean square, in the
# numbers' own type. So in float32 the deviation of a constant feature is often NaN or noise, for
# which ReplaceZerosByOnes does nothing, and that of 10000 and 10002 in turn is not near 1, as it
# should be. Guess before, from the documentation: 0 for any constant feature.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, 30 constants: all 0: false, some NaN: true
go, 10000 and 10002: between 0.9 and 1.1: false
xla, 30 constants: all 0: false, some NaN: true
xla, 10000 and 10002: between 0.9 and 1.1: false' <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/dataset"
)

var cases = []string{"30 constants", "10000 and 10002"}

const cause = "panicked: "

// result describes the standard deviations of the features of 1000 examples.
func result(backend compute.Backend, what string) any {
	examples := make([][]float32, 1000)
	for i := range examples {
		if what == "10000 and 10002" {
			examples[i] = []float32{10000 + 2*float32(i%2)}
			continue
		}
		for c := range 30 {
			examples[i] = append(examples[i], float32(c+1)/10) // 0.1, 0.2, ..., 3.0
		}
	}
	data, err := dataset.InMemoryFromData(backend, "examples", []any{examples}, nil)
	if err != nil {
		panic(err)
	}
	_, stddev, err := dataset.Normalization(backend, data.BatchSize(100, false), 0, -1)
	if err != nil {
		panic(err)
	}
	deviations := stddev.Value().([][]float32)[0]
	if what == "10000 and 10002" {
		return fmt.Sprintf("between 0.9 and 1.1: %t", deviations[0] > 0.9 && deviations[0] < 1.1)
	}
	zeros, nan := true, false
	for _, d := range deviations {
		zeros = zeros && d == 0
		nan = nan || math.IsNaN(float64(d))
	}
	return fmt.Sprintf("all 0: %t, some NaN: %t", zeros, nan)
}
GO
