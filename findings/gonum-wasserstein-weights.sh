#!/usr/bin/env bash
# gonum 0.17.0: stat.WassersteinDistance and WassersteinDistanceND normalize the caller's weights in
# place. The distance is right, but what are counts before the call are shares after it, of which
# the documentation says nothing, and what is computed from them next is wrong without an error:
# here the chi-square test of the same counts finds a loaded die (p 0.02) before and a fair one
# (p 0.999) after the call. Guess before, from the documentation: it reads its weights only.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'before: 60 throws, chi-square 13.400, p 0.020
distance 0.667
after: 1 throws, chi-square 0.223, p 0.999' <<'GO'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

func main() {
	faces := []float64{1, 2, 3, 4, 5, 6}
	thrown := []float64{5, 8, 9, 8, 10, 20}
	fair := []float64{10, 10, 10, 10, 10, 10}
	test := func(when string) {
		chi := stat.ChiSquare(thrown, fair)
		fmt.Printf("%s: %.0f throws, chi-square %.3f, p %.3f\n", when, floats.Sum(thrown), chi,
			distuv.ChiSquared{K: 5}.Survival(chi))
	}
	test("before")
	fmt.Printf("distance %.3f\n", stat.WassersteinDistance(faces, faces, thrown, fair))
	test("after")
}
GO
