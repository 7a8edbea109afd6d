# shellcheck shell=bash
# Sourced by findings about GoMLX 0.28.3 with go-xla 0.4.2.
# Needs Go, a C compiler, and Python 3 with pip on Linux, amd64.

# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/go.sh"

# compare_backends runs a Go file, read from standard input, on the Go backend and on XLA. It declares
# the cases, and result(backend, case). The output must be the argument.
compare_backends() {
  in_module github.com/gomlx/gomlx@v0.28.3 github.com/gomlx/compute@v0.1.3 \
    github.com/gomlx/go-xla@v0.4.2
  python3 -m pip install --quiet --target plugin --no-deps fastatomstruct-xla-cpu==2026.6.23
  cat > finding.go
  cat > main.go <<'GO'
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	_ "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/gomlx/support/exceptions"
)

func main() {
	for _, config := range os.Args[1:] {
		backend, err := compute.NewWithConfig(config)
		if err != nil {
			panic(err)
		}
		kind, _, _ := strings.Cut(config, ":")
		for _, one := range cases {
			var shown string
			if err := exceptions.TryCatch[error](func() { shown = fmt.Sprint(result(backend, one)) }); err != nil {
				_, shown, _ = strings.Cut(err.Error(), cause)
				shown, _, _ = strings.Cut(shown, "\n")
			}
			fmt.Printf("%s, %s: %s\n", kind, one, shown)
		}
	}
}
GO
  go build -o finding .
  expect "$1" ./finding go "xla:$PWD/plugin/fastatomstruct_xla_cpu/libpjrt_cpu.so"
}

# compare_gradients runs a Go file, read from standard input, as compare_backends does, and shows the
# gradient at x = 1, 2, … 6 beside finite differences. The file declares the kind of
# the cases, the cases, and cost(x, kind), which is linear in x.
compare_gradients() {
  compare_backends "$1" < <(
    cat
    cat <<'GO'

const cause = "panicked: "

func result(backend compute.Backend, what kind) any {
	of := func(x *Node) *Node { return cost(x, what) }
	x := []float64{1, 2, 3, 4, 5, 6}
	value := MustNewExec(backend, of)
	var differences []float64
	for i := range x {
		x[i] += 0.5
		more := value.MustCall1(x).Value().(float64)
		x[i]--
		less := value.MustCall1(x).Value().(float64)
		x[i] += 0.5
		differences = append(differences, more-less)
	}
	gradient := MustNewExec(backend, func(x *Node) *Node {
		return Gradient(of(x), x)[0]
	}).MustCall1(x)
	return fmt.Sprintf("gradient %.0f, by differences %.0f", gradient.Value(), differences)
}
GO
  )
}
