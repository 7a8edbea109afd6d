#!/usr/bin/env bash
# npyio 0.14.0 (at Codeberg) × NumPy 2.4.6: a gonum matrix that is written by value, as the
# package's documentation shows it, becomes a file without one number, of shape () and type void,
# and there is no error: arrayOf of npy/array.go knows *mat.Dense only, and takes mat.Dense as a
# struct without fields. NumPy loads the file. So weights or results are gone. A pointer is right,
# as is the value in 0.6.0. Guess before: the matrix.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

in_module codeberg.org/sbinet/npyio@v0.14.0 github.com/sbinet/npyio@v0.6.0 \
  gonum.org/v1/gonum@v0.17.0
with_python numpy==2.4.6
cat > main.go <<'GO'
package main

import (
	"io"
	"os"

	"codeberg.org/sbinet/npyio/npy"
	old "github.com/sbinet/npyio/npy"
	"gonum.org/v1/gonum/mat"
)

func main() {
	matrix := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	save("pointer.npy", matrix, npy.Write)
	save("value.npy", *matrix, npy.Write)
	save("value-0.6.0.npy", *matrix, old.Write)
}

func save(name string, value any, write func(io.Writer, any) error) {
	file, err := os.Create(name)
	if err == nil {
		err = write(file, value)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		panic(err)
	}
}
GO
expect_in_python 'pointer: float64 (2, 2) [[1.0, 2.0], [3.0, 4.0]]
value: |V0 () b'"''"'
value-0.6.0: float64 (2, 2) [[1.0, 2.0], [3.0, 4.0]]' <<'PY'
import numpy

for name in "pointer", "value", "value-0.6.0":
    array = numpy.load(name + ".npy")
    print(f"{name}: {array.dtype} {array.shape} {array.tolist()}")
PY
