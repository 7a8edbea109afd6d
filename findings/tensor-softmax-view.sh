#!/usr/bin/env bash
# gorgonia.org/tensor 0.9.24: SoftMax and LogSoftMax take the numbers as they lie in memory. Of a
# slice or a transposed tensor, which share the memory of another one, they take numbers that are
# not there or belong to another row: the probabilities of two classes out of three depend on the
# third. Rows still sum to 1, and there is no error. Sum and Max of the same tensors are right, and
# so is SoftMax of a copy (Materialize). Guess before: as of a copy.
set -euo pipefail
# shellcheck source=findings/lib/gorgonia.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gorgonia.sh"

in_gorgonia gorgonia.org/tensor@v0.9.24
cat > main.go <<'GO'
package main

import (
	"fmt"

	"gorgonia.org/tensor"
)

func main() {
	logits := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float64{1, 5, 3, 4, 2, 6}))
	slice, err := logits.Slice(nil, tensor.S(1, 3))
	check(err)
	show("slice", slice)
	transposed := logits.Clone().(*tensor.Dense)
	check(transposed.T())
	show("transposed", transposed)
}

// show prints the probabilities in each row, of the tensor and of a copy of it.
func show(what string, logits tensor.View) {
	sum, err := tensor.Sum(logits, 1)
	check(err)
	fmt.Printf("%s: sums %v\n", what, sum.Data())
	fmt.Printf("%s: %.3f\n", what, softMax(logits))
	fmt.Printf("copy: %.3f\n", softMax(logits.Materialize()))
}

func softMax(logits tensor.Tensor) []float64 {
	probabilities, err := tensor.SoftMax(logits, 1)
	check(err)
	return probabilities.Data().([]float64)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
expect 'slice: sums [8 8]
slice: [0.881 0.119 0.881 0.119]
copy: [0.881 0.119 0.018 0.982]
transposed: sums [5 7 9]
transposed: [0.018 0.982 0.269 0.731 0.018 0.982]
copy: [0.047 0.953 0.953 0.047 0.047 0.953]' go run .
