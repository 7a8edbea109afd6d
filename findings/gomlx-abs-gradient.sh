#!/usr/bin/env bash
# GoMLX 0.28.3: the gradient of Abs at 0 is 1, and so is that of L1Norm, which is there to make weights
# 0: it drives those that are away from it. Sign(0) is 0. Guess before: the gradient is Sign.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, gradient of Abs: [-1 1 1]
go, gradient of L1Norm: [-1 1 1]
go, Sign: [-1 0 1]
xla, gradient of Abs: [-1 1 1]
xla, gradient of L1Norm: [-1 1 1]
xla, Sign: [-1 0 1]' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"gradient of Abs", "gradient of L1Norm", "Sign"}

const cause = "panicked: "

// result is the gradient, or the sign, of -2, 0 and 3.
func result(backend compute.Backend, what string) any {
	return MustNewExec(backend, func(x *Node) *Node {
		switch what {
		case "gradient of Abs":
			return Gradient(ReduceAllSum(Abs(x)), x)[0]
		case "gradient of L1Norm":
			return Gradient(ReduceAllSum(L1Norm(x)), x)[0]
		}
		return Sign(x)
	}).MustCall1([]float32{-2, 0, 3}).Value()
}
GO
