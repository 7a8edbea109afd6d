#!/usr/bin/env bash
# gonum/plot 0.17.0: for an odd number of values the box of NewBoxPlot is lopsided. The middle value
# counts to the upper half, but not to the lower one: the box of 1 2 3 4 5 goes from 1.5 to 4. So
# even data look skewed, data and their mirror image get boxes that are no mirror images, and other
# points are outliers. The documentation promises Tukey's schematic plot, where the middle counts to
# both (2 to 4). An even number is right. Guess before: one of the common rules, all of which are
# symmetric.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/plot@v0.17.0 '[1 2 3 4 5]: box 1.5 to 4
[-5 -4 -3 -2 -1]: box -4.5 to -2
[1 2 3 4 5 6]: box 2 to 5
[1 2 3 4 8]: outliers [8]
[-8 -4 -3 -2 -1]: outliers []' <<'GO'
package main

import (
	"fmt"

	"gonum.org/v1/plot/plotter"
)

func main() {
	boxes := []plotter.Values{{1, 2, 3, 4, 5}, {-5, -4, -3, -2, -1}, {1, 2, 3, 4, 5, 6}}
	for _, values := range boxes {
		box := plot(values)
		fmt.Printf("%v: box %g to %g\n", values, box.Quartile1, box.Quartile3)
	}
	for _, values := range []plotter.Values{{1, 2, 3, 4, 8}, {-8, -4, -3, -2, -1}} {
		outliers := []float64{}
		for _, i := range plot(values).Outside {
			outliers = append(outliers, values[i])
		}
		fmt.Printf("%v: outliers %v\n", values, outliers)
	}
}

func plot(values plotter.Values) *plotter.BoxPlot {
	box, err := plotter.NewBoxPlot(10, 0, values)
	if err != nil {
		panic(err)
	}
	return box
}
GO
