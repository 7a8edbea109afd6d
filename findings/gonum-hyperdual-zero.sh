#!/usr/bin/env bash
# gonum 0.17.0: where their argument is 0, Sin, Tan, Asin, Atan, Sinh, Tanh, Asinh and Atanh of
# num/hyperdual lose its ϵ₁ϵ₂ part, and Sinh puts the ϵ₁ part in place of the ϵ₂ part as well. They
# have a branch for 0, which gives what the documentation lists as special cases, but this holds
# only for an argument that has no ϵ₁ϵ₂ part and, in Sinh, two equal others. So tanh(ab), whose
# mixed derivative is 1 at the origin, has 0 there, and b·sinh(a) at (0, 2) has the derivative 2 by
# b in place of 0: Hessians, and gradients too, are wrong just where a fit starts from zeros or an
# equilibrium is. A step of 1e-9 away all are right. Guess before, from the rule for the derivatives
# of f(g(x)): as right at g(x) = 0 as elsewhere.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'the mixed derivative of f(ab), at a = b = 0 and at 1e-9
Exp 1 1
Sin 0 1
Tan 0 1
Asin 0 1
Atan 0 1
Sinh 0 1
Tanh 0 1
Asinh 0 1
Atanh 0 1
the derivative by b of b·sinh(a), at (0, 2) and (1e-9, 2)
2 0' <<'GO'
package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/num/hyperdual"
)

func main() {
	fmt.Println("the mixed derivative of f(ab), at a = b = 0 and at 1e-9")
	for _, f := range []struct {
		name string
		of   func(hyperdual.Number) hyperdual.Number
	}{
		{"Exp", hyperdual.Exp}, {"Sin", hyperdual.Sin}, {"Tan", hyperdual.Tan},
		{"Asin", hyperdual.Asin}, {"Atan", hyperdual.Atan}, {"Sinh", hyperdual.Sinh},
		{"Tanh", hyperdual.Tanh}, {"Asinh", hyperdual.Asinh}, {"Atanh", hyperdual.Atanh},
	} {
		mixed := func(at float64) int {
			a, b := variables(at, at)
			return int(math.Round(f.of(hyperdual.Mul(a, b)).E1E2mag))
		}
		fmt.Println(f.name, mixed(0), mixed(1e-9))
	}
	fmt.Println("the derivative by b of b·sinh(a), at (0, 2) and (1e-9, 2)")
	byB := func(at float64) int {
		a, b := variables(at, 2)
		return int(math.Round(hyperdual.Mul(b, hyperdual.Sinh(a)).E2mag))
	}
	fmt.Println(byB(0), byB(1e-9))
}

// variables gives a, by which ϵ₁ derives, and b, by which ϵ₂ does.
func variables(a, b float64) (hyperdual.Number, hyperdual.Number) {
	return hyperdual.Number{Real: a, E1mag: 1}, hyperdual.Number{Real: b, E2mag: 1}
}
GO
