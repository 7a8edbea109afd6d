#!/usr/bin/env bash
# npyio 0.14.0 (at Codeberg) × NumPy 2.4.6: a file of integers, read into a Go array of float64,
# gives the integers' bits as numbers near 0, without an error, while Read is documented to return
# one where the types don't match, and does so for a slice. So do a slice of a named type, and
# fields of structs: Read describes the data by the Go type, and of the file's only the layout is
# kept (fixupDescrLayout). So labels, counts and pixels that NumPy saved as integers are as good as
# 0. Guess, from that documentation: an error.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

in_module codeberg.org/sbinet/npyio@v0.14.0
with_python numpy==2.4.6
python3 - <<'PY'
import numpy

numpy.save("integers.npy", numpy.array([1, 2, 3]))
numpy.save("fields.npy", numpy.array([(7, 2.5)], [("label", "<i8"), ("x", "<f8")]))
PY
cat > main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"codeberg.org/sbinet/npyio/npy"
)

type vector []float64

type example struct {
	Label float64 `npy:"label"`
	X     float64 `npy:"x"`
}

func main() {
	var slice []float64
	read("integers.npy", &slice)
	fmt.Println(slice)
	var array [3]float64
	read("integers.npy", &array)
	fmt.Println(array)
	var named vector
	read("integers.npy", &named)
	fmt.Println(named)
	var examples []example
	read("fields.npy", &examples)
	fmt.Println(examples)
}

func read(name string, into any) {
	file, err := os.Open(name)
	if err == nil {
		err = npy.Read(file, into)
	}
	fmt.Printf("%T, error %v: ", into, err)
}
GO
expect '*[]float64, error npy: types don'"'"'t match: []
*[3]float64, error <nil>: [5e-324 1e-323 1.5e-323]
*main.vector, error <nil>: [5e-324 1e-323 1.5e-323]
*[]main.example, error <nil>: [{3.5e-323 2.5}]' go run .
