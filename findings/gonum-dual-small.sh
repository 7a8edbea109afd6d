#!/usr/bin/env bash
# gonum 0.17.0: the derivatives that PowReal and Sqrt of num/dual and num/hyperdual give below 1e-15
# are those at 1e-15: a tolerance that is there for 0, and not in the documentation, replaces all
# that is smaller. The values are right. In SI units this is common: the distance √(x²) of two ions
# that are 0.1 nm apart grows with x at the rate 0.003 in place of 1, and a force between them that
# is derived in this way is wrong by as much. Pow with the power 0.5 is right. Guess before, from
# the documentation: the derivative of x**2 is 2x at 1e-20 too, and so for Sqrt and hyperdual.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'the derivative of the root of x², which is 1
x 1e-06: Sqrt 1.0000, hyperdual Sqrt 1.0000, PowReal 1.0000, Pow 1.0000
x 1e-07: Sqrt 1.0000, hyperdual Sqrt 1.0000, PowReal 1.0000, Pow 1.0000
x 1e-08: Sqrt 0.3162, hyperdual Sqrt 0.3162, PowReal 0.3162, Pow 1.0000
x 1e-09: Sqrt 0.0316, hyperdual Sqrt 0.0316, PowReal 0.0316, Pow 1.0000
x 1e-10: Sqrt 0.0032, hyperdual Sqrt 0.0032, PowReal 0.0032, Pow 1.0000
the derivative of x² at 1e-20: PowReal 2e-15, Mul 2e-20' <<'GO'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/num/dual"
	"gonum.org/v1/gonum/num/hyperdual"
)

func main() {
	fmt.Println("the derivative of the root of x², which is 1")
	for _, at := range []float64{1e-6, 1e-7, 1e-8, 1e-9, 1e-10} {
		x, h := dual.Number{Real: at, Emag: 1}, hyperdual.Number{Real: at, E1mag: 1}
		square, half := dual.Mul(x, x), dual.Number{Real: 0.5}
		fmt.Printf("x %.0e: Sqrt %.4f, hyperdual Sqrt %.4f, PowReal %.4f, Pow %.4f\n", at,
			dual.Sqrt(square).Emag, hyperdual.Sqrt(hyperdual.Mul(h, h)).E1mag,
			dual.PowReal(square, 0.5).Emag, dual.Pow(square, half).Emag)
	}
	x := dual.Number{Real: 1e-20, Emag: 1}
	fmt.Printf("the derivative of x² at 1e-20: PowReal %.0e, Mul %.0e\n",
		dual.PowReal(x, 2).Emag, dual.Mul(x, x).Emag)
}
GO
