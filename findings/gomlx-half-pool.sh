#!/usr/bin/env bash
# GoMLX 0.28.3: SumPool and MeanPool of bfloat16 add in bfloat16, where 256 and 1 is 256. So the global
# average of 1000 ones is 0.26 by MeanPool, on every backend. ReduceMean adds in float32 and says 1,
# within rounding. Guess before: the same number, rounded.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, SumPool: 256
go, MeanPool: 0.26
go, ReduceMean: 1.00
xla, SumPool: 256
xla, MeanPool: 0.26
xla, ReduceMean: 1.00' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"SumPool", "MeanPool", "ReduceMean"}

const cause = "panicked: "

func result(backend compute.Backend, what string) any {
	value := MustNewExec(backend, func(one *Node) *Node {
		x := BroadcastToDims(ConvertDType(one, dtypes.BFloat16), 1, 1000, 1)
		switch what {
		case "SumPool":
			x = SumPool(x).Window(1000).Done()
		case "MeanPool":
			x = MeanPool(x).Window(1000).Done()
		default:
			x = ReduceAllMean(x)
		}
		return Reshape(ConvertDType(x, dtypes.Float32))
	}).MustCall1(float32(1)).Value()
	if what == "SumPool" {
		return value
	}
	return fmt.Sprintf("%.2f", value)
}
GO
