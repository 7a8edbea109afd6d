#!/usr/bin/env bash
# github.com/aclements/go-moremath f10218a38794: PolynomialRegression of degree 3 fits x⁴ in place
# of x³, that of degree 4 x⁴ and x⁵ in place of x³ and x⁴, and so on: from the third on, the terms
# have one power too many. F and the coefficients are for the right powers. So a cubic misses the
# points of a cubic, by more than a line does, and the higher the degree the more. LOESS, which is
# made of it, is wrong as well. There is no error. Up to degree 2 all is right. Guess before, from
# the documentation (least squares, Coefficients[i] is that of x^i): the error falls to 0 at degree
# 3, where the coefficients are those of the data. Here: y = x³ + 1 at 0, 1, …, 10, with 1001 at 10.
# The old gonum modules are those that it needs: it does not pin them.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

in_module github.com/aclements/go-moremath@v0.0.0-20210112150236-f10218a38794 \
  github.com/gonum/blas@v0.0.0-20181208220705-f22b278b28ac \
  github.com/gonum/floats@v0.0.0-20181209220543-c233463c7e82 \
  github.com/gonum/internal@v0.0.0-20181124074243-f884aa714029 \
  github.com/gonum/lapack@v0.0.0-20181123203213-e4cdc5a0bff9 \
  github.com/gonum/matrix@v0.0.0-20181209220409-c518dec07be9
cat > main.go <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/aclements/go-moremath/fit"
)

func main() {
	var xs, ys []float64
	for x := 0.0; x <= 10; x++ {
		xs = append(xs, x)
		ys = append(ys, x*x*x+1)
	}
	for degree := 1; degree <= 4; degree++ {
		polynomial := fit.PolynomialRegression(xs, ys, nil, degree)
		var squares float64
		for i, x := range xs {
			squares += math.Pow(polynomial.F(x)-ys[i], 2)
		}
		fmt.Printf("degree %d: root mean square error %.1f, F(10) %.0f, LOESS(10) %.0f, %.2f\n", degree,
			math.Sqrt(squares/float64(len(xs))), polynomial.F(10),
			fit.LOESS(xs, ys, degree, 1)(10), polynomial.Coefficients[:min(degree+1, 4)])
	}
}
GO
expect 'degree 1: root mean square error 134.6, F(10) 740, LOESS(10) 867, [-188.00 92.80]
degree 2: root mean square error 23.7, F(10) 965, LOESS(10) 989, [37.00 -57.20 15.00]
degree 3: root mean square error 171.4, F(10) 561, LOESS(10) 635, [5.13 -13.23 6.39 0.05]
degree 4: root mean square error 245.3, F(10) 391, LOESS(10) 467, [1.73 -4.75 3.69 0.11]' go run .
