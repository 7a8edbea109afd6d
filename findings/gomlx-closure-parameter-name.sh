#!/usr/bin/env bash
# GoMLX 0.28.3 × go-xla 0.4.2: the name that a closure's parameter has becomes the name of a value in
# StableHLO. A loop whose parameter is called "0" runs on the Go backend and does not compile on XLA,
# as the compiler numbers its own values from 0. Guess before: names are only labels.
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

// double doubles 3 until it is at least 100, in a loop whose parameter has that name.
func double(backend compute.Backend, name string) (result string) {
	err := exceptions.TryCatch[error](func() {
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
		result = fmt.Sprint(exec.MustCall1(float32(3)).Value())
	})
	if err != nil {
		_, found, _ := strings.Cut(err.Error(), "error: ")
		result, _, _ = strings.Cut(found, "\n")
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
		for _, name := range []string{"x", "0"} {
			fmt.Printf("%s, parameter %q: %s\n", kind, name, double(backend, name))
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
go, parameter "x": 192
go, parameter "0": 192
xla, parameter "x": 192
xla, parameter "0": redefinition of SSA value '%0'
SEEN
