#!/usr/bin/env bash
# GoMLX 0.28.3: a graph keeps its scalar constants by value, and a closure's graph shares them. So
# MulScalar(x, 2) in a loop's body and MulScalar(y, 2) outside take one node, which belongs to whoever
# came first. With the body first, no backend builds the graph; with the outside first, the Go backend
# computes it and XLA (go-xla 0.4.2) refuses. Guess before: a closure has constants of its own.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, not outside: 192
go, before: 192
go, after: Mul: input #1 uses a node from a different function scope
xla, not outside: 192
xla, before: cannot add operation Multiply to function "closure1", because the operands are not part of the function
xla, after: cannot add operation Multiply after returning, in function "closure1"' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

var cases = []string{"not outside", "before", "after"}

const cause = "panicked: " // what stands before the cause of an error

// result doubles 3 in a loop until it is at least 100, and once more outside: before, after or not.
func result(backend compute.Backend, outside string) any {
	exec := MustNewExec(backend, func(x *Node) *Node {
		if outside == "before" {
			x = MulScalar(x, 2)
		}
		condition := NewClosure(x.Graph(), func(g *Graph) []*Node {
			v := Parameter(g, "v", shapes.Make(dtypes.Float32))
			return []*Node{LessThan(v, Const(g, float32(100)))}
		})
		body := NewClosure(x.Graph(), func(g *Graph) []*Node {
			return []*Node{MulScalar(Parameter(g, "v", shapes.Make(dtypes.Float32)), 2)}
		})
		y := While(condition, body, x)[0]
		if outside == "after" {
			y = MulScalar(y, 2)
		}
		return y
	})
	return exec.MustCall1(float32(3)).Value()
}
GO
