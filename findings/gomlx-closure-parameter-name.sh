#!/usr/bin/env bash
# GoMLX 0.28.3 × go-xla 0.4.2: the name that a closure's parameter has becomes the name of a value in
# StableHLO. A loop whose parameter is called "0" runs on the Go backend and does not compile on XLA,
# as the compiler numbers its own values from 0. Guess before: names are only labels.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, x: 192
go, 0: 192
xla, x: 192
xla, 0: redefinition of SSA value '"'%0'" <<'GO'
package main

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"x", "0"}

const cause = "error: " // what stands before the cause of an error

// result doubles 3 until it is at least 100, in a loop whose parameter has that name.
func result(backend compute.Backend, name string) any {
	exec := MustNewExec(backend, func(x *Node) *Node {
		condition := NewClosure(x.Graph(), func(g *Graph) []*Node {
			v := Parameter(g, name, shapes.Make(dtypes.Float32))
			return []*Node{LessThan(v, Const(g, float32(100)))}
		})
		body := NewClosure(x.Graph(), func(g *Graph) []*Node {
			v := Parameter(g, name, shapes.Make(dtypes.Float32))
			return []*Node{Add(v, v)}
		})
		return While(condition, body, x)[0]
	})
	return exec.MustCall1(float32(3)).Value()
}
GO
