#!/usr/bin/env bash
# gonum 0.17.0: StudentsT.Quantile leaves the distribution in its tails if there are many degrees of
# freedom. With 10⁵ of them the quantile of 1e-9 is -81.65 in place of -6.00 (SciPy 1.17), where
# gonum's own CDF is 0. There is no error. At 1e-6, or with 10⁴ degrees, all is well. Guess before:
# eight digits, as everywhere else in distuv.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 '10000 degrees: Quantile(1e-06) = -4.756, CDF there 1e-06
10000 degrees: Quantile(1e-09) = -6.003, CDF there 1e-09
100000 degrees: Quantile(1e-06) = -4.754, CDF there 1e-06
100000 degrees: Quantile(1e-09) = -81.65, CDF there 0' <<'GO'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

func main() {
	for _, degrees := range []float64{1e4, 1e5} {
		t := distuv.StudentsT{Sigma: 1, Nu: degrees}
		for _, p := range []float64{1e-6, 1e-9} {
			x := t.Quantile(p)
			fmt.Printf("%.f degrees: Quantile(%g) = %.4g, CDF there %.4g\n", degrees, p, x, t.CDF(x))
		}
	}
}
GO
