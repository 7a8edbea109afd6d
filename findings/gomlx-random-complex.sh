#!/usr/bin/env bash
# GoMLX 0.28.3: RandomUniform draws the real and the imaginary parts of complex numbers from one
# state of the generator, so that both are equal, although its documentation says that they are
# independent. All numbers lie on one line, without an error. Seen on XLA; the Go backend refuses.
# Guess before: independent parts. Here: how many of 1,000 numbers have two parts.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, Complex64: sorry, op "Complex" not implemented in the "go" backend yet -- reach out to github.com/gomlx/gomlx and open an issue if you need this op, this helps us prioritize the work: op not implemented
go, Complex128: sorry, op "Complex" not implemented in the "go" backend yet -- reach out to github.com/gomlx/gomlx and open an issue if you need this op, this helps us prioritize the work: op not implemented
xla, Complex64: parts differ in 0 of 1000
xla, Complex128: parts differ in 0 of 1000' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []dtypes.DType{dtypes.Complex64, dtypes.Complex128}

const cause = "panicked: " // what stands before the cause of an error

func result(backend compute.Backend, kind dtypes.DType) any {
	count := MustNewExec(backend, func(g *Graph) *Node {
		_, numbers := RandomUniform(RNGStateFromSeedForGraph(g, 1), shapes.Make(kind, 1000))
		return ReduceAllSum(ConvertDType(NotEqual(Real(numbers), Imag(numbers)), dtypes.Int32))
	}).MustCall1().Value()
	return fmt.Sprintf("parts differ in %d of 1000", count)
}
GO
