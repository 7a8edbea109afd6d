#!/usr/bin/env bash
# gonum 0.17.0: the variance that GlobalMoransI of stat/spatial gives is too large. Its kurtosis
# lacks the factor n: Cliff and Ord divide Σz⁴/n by (Σz²/n)², gonum divides Σz⁴ by (Σz²)². So z is
# too small, and clusters go unnoticed, without an error. The true variance is known: it is that of
# I over all orders of the same values. With one outlier among nine places it is 31 times smaller.
# I itself is right. Guess before, from the documentation ("Var(I) and the z-score"): the variance
# over all orders. Here: places in a row, each beside one or two others.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 '[1 2 3 4 5 6 7], gonum: I 0.667, variance 0.1898, z 1.91, p 0.056
[1 2 3 4 5 6 7], all orders: I 0.667, variance 0.1343, z 2.27, p 0.023
[0 0 0 0 0 1 1 1 30], gonum: I 0.011, variance 0.1272, z 0.38, p 0.703
[0 0 0 0 0 1 1 1 30], all orders: I 0.011, variance 0.0041, z 2.13, p 0.033' <<'GO'
package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/gonum/stat/spatial"
)

func main() {
	for _, values := range [][]float64{
		{1, 2, 3, 4, 5, 6, 7},
		{0, 0, 0, 0, 0, 1, 1, 1, 30},
	} {
		n := len(values)
		neighbours := mat.NewDense(n, n, nil)
		for i := range n - 1 {
			neighbours.Set(i, i+1, 1)
			neighbours.Set(i+1, i, 1)
		}
		index, variance, z := spatial.GlobalMoransI(values, nil, neighbours)
		fmt.Printf("%v, gonum: I %.3f, variance %.4f, z %.2f, p %.3f\n",
			values, index, variance, z, p(z))

		var indices []float64
		order, shuffled := make([]int, n), make([]float64, n)
		for orders := combin.NewPermutationGenerator(n, n); orders.Next(); {
			for i, from := range orders.Permutation(order) {
				shuffled[i] = values[from]
			}
			indices = append(indices, moran(shuffled))
		}
		mean, variance := stat.PopMeanVariance(indices, nil)
		z = (moran(values) - mean) / math.Sqrt(variance)
		fmt.Printf("%v, all orders: I %.3f, variance %.4f, z %.2f, p %.3f\n",
			values, moran(values), variance, z, p(z))
	}
}

// moran is Moran's I for places in a row.
func moran(values []float64) float64 {
	mean, variance := stat.PopMeanVariance(values, nil)
	sum := 0.
	for i := range len(values) - 1 {
		sum += (values[i] - mean) * (values[i+1] - mean)
	}
	return sum / float64(len(values)-1) / variance
}

// p is the probability of a larger z of either sign.
func p(z float64) float64 {
	return 2 * distuv.UnitNormal.CDF(-math.Abs(z))
}
GO
