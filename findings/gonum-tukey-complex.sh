#!/usr/bin/env bash
# gonum 0.17.0: window.Tukey.TransformComplex replaces the end of the signal by its tapered start,
# in reverse: the weight should be multiplied there, but the sample is copied. With Alpha 0.5 it is
# a quarter of the signal, with 0.99 a half. So the spectrum is that of another signal, and nothing
# in it looks broken. Transform, for real signals, is right, and so are both of all the other
# windows. Guess before: a complex signal gets the weights of a real one.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'real:    [0.00 1.22 3.00 4.00 5.00 6.00 4.28 0.00]
complex: [0.00 1.22 3.00 4.00 5.00 6.00 1.22 0.00]' <<'GO'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/dsp/window"
)

func main() {
	var whole, parts []float64
	var signal []complex128
	for i := range 8 {
		whole = append(whole, float64(i+1))
		signal = append(signal, complex(whole[i], 0))
	}
	tukey := window.Tukey{Alpha: 0.5}
	fmt.Printf("real:    %.2f\n", tukey.Transform(whole))
	for _, sample := range tukey.TransformComplex(signal) {
		parts = append(parts, real(sample))
	}
	fmt.Printf("complex: %.2f\n", parts)
}
GO
