#!/usr/bin/env bash
# GoMLX 0.28.3: a graph keeps its scalar constants by value, and a closure's graph shares them. So
# MulScalar(x, 2) in a loop's body and MulScalar(y, 2) outside take one node, which belongs to whoever
# came first. With the body first, no backend builds the graph; with the outside first, the Go backend
# computes it and XLA (go-xla 0.4.2) refuses. Guess before: a closure has constants of its own.
# Needs Go, a C compiler, and Python 3 with pip on Linux, amd64.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install --quiet --target plugin --no-deps fastatomstruct-xla-cpu==2026.6.23
cat > main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	_ "github.com/gomlx/go-xla/compute/xla"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/support/exceptions"
)

// double doubles 3 in a loop until it is at least 100, and once more outside: before, after or not.
func double(backend compute.Backend, outside string) (result string) {
	err := exceptions.TryCatch[error](func() {
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
		result = fmt.Sprint(exec.MustCall1(float32(3)).Value())
	})
	if err != nil {
		_, result, _ = strings.Cut(err.Error(), "panicked: ")
		result, _, _ = strings.Cut(result, "\n")
	}
	return result
}

func main() {
	for _, config := range os.Args[1:] {
		backend, err := compute.NewWithConfig(config)
		if err != nil {
			panic(err)
		}
		kind, _, _ := strings.Cut(config, ":")
		for _, outside := range []string{"not", "before", "after"} {
			fmt.Printf("%s, outside %s: %s\n", kind, outside, double(backend, outside))
		}
	}
}
GO
export GOFLAGS=-mod=mod GOWORK=off
go mod init finding 2> /dev/null
go get github.com/gomlx/gomlx@v0.28.3 github.com/gomlx/compute@v0.1.3 github.com/gomlx/go-xla@v0.4.2 2> /dev/null
go build -o finding .
./finding go "xla:$folder/plugin/fastatomstruct_xla_cpu/libpjrt_cpu.so" | tee seen
diff seen - <<'SEEN'
go, outside not: 192
go, outside before: 192
go, outside after: Mul: input #1 uses a node from a different function scope
xla, outside not: 192
xla, outside before: cannot add operation Multiply to function "closure1", because the operands are not part of the function
xla, outside after: cannot add operation Multiply after returning, in function "closure1"
SEEN
