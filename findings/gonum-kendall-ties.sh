#!/usr/bin/env bash
# gonum 0.17.0: stat.Kendall counts a tie as a positive difference. So its value depends on the
# order in which the same pairs stand, and a constant has the correlation 1 with what comes sorted
# upwards and -1 with what comes sorted downwards. Guess before, from the documentation: tau-a in
# any order, for which a tied pair is neither concordant nor discordant.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 '[1 1 2 2] [1 2 3 4]: 1.000, tau-a 0.667
[1 1 2 2] [2 1 4 3]: 0.333, tau-a 0.667
[1 1 1] [1 2 3]: 1.000, tau-a 0.000
[1 1 1] [3 2 1]: -1.000, tau-a 0.000' <<'GO'
package main

import (
	"cmp"
	"fmt"

	"gonum.org/v1/gonum/stat"
)

func main() {
	for _, pairs := range [][2][]float64{
		{{1, 1, 2, 2}, {1, 2, 3, 4}},
		{{1, 1, 2, 2}, {2, 1, 4, 3}}, // the same four pairs
		{{1, 1, 1}, {1, 2, 3}},
		{{1, 1, 1}, {3, 2, 1}}, // the same three pairs
	} {
		x, y := pairs[0], pairs[1]
		fmt.Printf("%v %v: %.3f, tau-a %.3f\n", x, y, stat.Kendall(x, y, nil), tauA(x, y))
	}
}

// tauA is the number of concordant pairs less the number of discordant ones, by the number of all.
func tauA(x, y []float64) float64 {
	var difference, all int
	for i := range x {
		for j := range i {
			difference += cmp.Compare(x[i], x[j]) * cmp.Compare(y[i], y[j])
			all++
		}
	}
	return float64(difference) / float64(all)
}
GO
