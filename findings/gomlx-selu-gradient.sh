#!/usr/bin/env bash
# GoMLX 0.28.3: the gradient of Selu, which self-normalising networks use, is NaN for float32
# inputs of 89 and more, on every backend and without an error. The values are right. Selu chooses
# between x and the exponential by Where, whose gradient multiplies the 0 of the branch that was
# not chosen by an infinite exponential. So one large input makes all weights NaN. Swish, Gelu and
# Softplus are right there. Guess before: the gradient is 1.05.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, Selu: value [1.05 84.1 105], gradient [1.05 1.05 NaN]
go, Swish: value [0.731 80 100], gradient [0.928 1 1]
go, Gelu: value [0.841 80 100], gradient [1.08 1 1]
xla, Selu: value [1.05 84.1 105], gradient [1.05 1.05 NaN]
xla, Swish: value [0.731 80 100], gradient [0.928 1 1]
xla, Gelu: value [0.841 80 100], gradient [1.08 1 1]' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
)

var cases = []string{"Selu", "Swish", "Gelu"}

const cause = "panicked: " // what stands before the cause of an error

func result(backend compute.Backend, name string) any {
	x := []float32{1, 80, 100}
	activate := map[string]func(*Node) *Node{
		"Selu": activation.Selu, "Swish": activation.Swish, "Gelu": activation.Gelu}[name]
	value := MustNewExec(backend, activate).MustCall1(x).Value()
	gradient := MustNewExec(backend, func(x *Node) *Node {
		return Gradient(ReduceAllSum(activate(x)), x)[0]
	}).MustCall1(x).Value()
	return fmt.Sprintf("value %.3g, gradient %.3g", value, gradient)
}
GO
