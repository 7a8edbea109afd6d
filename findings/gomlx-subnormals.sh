#!/usr/bin/env bash
# GoMLX 0.28.3: float32 below 1.2e-38 is 0 on XLA's CPU (go-xla 0.4.2) and a number on the Go
# backend. So log(sigmoid(-100)) is -inf there and about -100 here, and its gradient NaN there and
# +inf here. Numbers that only pass through keep their bits. Guess before: one processor, one
# arithmetic.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, copied: 1e-40
go, halved: 5e-41
go, log of sigmoid: -99.98309
go, its gradient: +Inf
xla, copied: 1e-40
xla, halved: 0
xla, log of sigmoid: -Inf
xla, its gradient: NaN' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"copied", "halved", "log of sigmoid", "its gradient"}

const cause = "panicked: "

func result(backend compute.Backend, what string) any {
	x := float32(1e-40)
	if what == "log of sigmoid" || what == "its gradient" {
		x = -100
	}
	return MustNewExec(backend, func(x *Node) *Node {
		switch what {
		case "copied":
			return Identity(x)
		case "halved":
			return MulScalar(x, 0.5)
		}
		y := Log(Sigmoid(x))
		if what == "its gradient" {
			return Gradient(y, x)[0]
		}
		return y
	}).MustCall1(x).Value()
}
GO
