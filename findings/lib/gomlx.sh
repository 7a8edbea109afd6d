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
