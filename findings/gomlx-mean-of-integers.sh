#!/usr/bin/env bash
# GoMLX 0.28.3: ReduceMean multiplies the sum by the inverse of the count, in the numbers' own type.
# In integers this factor is 0, and so is the mean: of classes, of counts, of pixels as bytes. There
# is no error, on no backend. Guess before: the quotient, rounded down, as Div gives it.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, float32: 30
go, int32: 0
go, int32 by Div: 30
xla, float32: 30
xla, int32: 0
xla, int32 by Div: 30' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"float32", "int32", "int32 by Div"}

const cause = "panicked: "

// result is the mean of 20, 30 and 40.
func result(backend compute.Backend, how string) any {
	return MustNewExec(backend, func(x *Node) *Node {
		switch how {
		case "float32":
			x = ConvertDType(x, dtypes.Float32)
		case "int32 by Div":
			return Div(ReduceAllSum(x), Scalar(x.Graph(), x.DType(), 3))
		}
		return ReduceAllMean(x)
	}).MustCall1([]int32{20, 30, 40}).Value()
}
GO
