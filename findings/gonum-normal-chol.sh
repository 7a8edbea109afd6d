#!/usr/bin/env bash
# gonum 0.17.0: CovarianceMatrix of a distmv.Normal that NewNormalChol made is all zeros or, if the
# matrix for the result has been used before, still what was in it: NewNormalChol does not keep a
# covariance, and there is no error. So of several distributions, read one after the other into one
# matrix, all seem to have the covariance of the first. The density is right. The documentation
# promises the distribution whose covariance the decomposition represents. Guess before, from the
# documentation: the matrix that chol factorizes.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'NewNormal: density at (1, 1) 0.0679, covariance [2 0.5 0.5 1]
NewNormalChol: density at (1, 1) 0.0679, covariance [0 0 0 0]
NewNormalChol, into the matrix of another: covariance [9 3 3 4]' <<'GO'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
)

func main() {
	mean, one := []float64{0, 0}, []float64{1, 1}
	sigma := mat.NewSymDense(2, []float64{2, 0.5, 0.5, 1})
	var chol mat.Cholesky
	chol.Factorize(sigma)
	direct, _ := distmv.NewNormal(mean, sigma, nil)
	byChol := distmv.NewNormalChol(mean, &chol, nil)
	show := func(name string, normal *distmv.Normal) {
		var covariance mat.SymDense
		normal.CovarianceMatrix(&covariance)
		fmt.Printf("%s: density at (1, 1) %.4f, covariance %v\n", name, normal.Prob(one),
			all(&covariance))
	}
	show("NewNormal", direct)
	show("NewNormalChol", byChol)

	another, _ := distmv.NewNormal(mean, mat.NewSymDense(2, []float64{9, 3, 3, 4}), nil)
	var covariance mat.SymDense
	another.CovarianceMatrix(&covariance)
	byChol.CovarianceMatrix(&covariance)
	fmt.Println("NewNormalChol, into the matrix of another: covariance", all(&covariance))
}

func all(s *mat.SymDense) []float64 { return mat.DenseCopyOf(s).RawMatrix().Data }
GO
