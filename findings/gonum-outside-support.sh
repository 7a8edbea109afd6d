#!/usr/bin/env bash
# gonum 0.17.0: below 0, where there is no probability, Chi.CDF is that of the same number without its
# sign, LogNormal.CDF and F.Prob are NaN. Exponential, Gamma and Weibull are right. Guess before: the
# functions of all distributions agree with SciPy to six digits.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'Exponential 0, Gamma 0, Weibull 0
Chi.CDF at -1 and 1: 0.199 0.199
LogNormal.CDF at -1: NaN
F.Prob at -1: NaN' <<'GO'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

func main() {
	fmt.Printf("Exponential %v, Gamma %v, Weibull %v\n", distuv.Exponential{Rate: 1}.CDF(-1),
		distuv.Gamma{Alpha: 2, Beta: 1}.CDF(-1), distuv.Weibull{K: 2, Lambda: 1}.CDF(-1))
	chi := distuv.Chi{K: 3}
	fmt.Printf("Chi.CDF at -1 and 1: %.3f %.3f\n", chi.CDF(-1), chi.CDF(1))
	fmt.Println("LogNormal.CDF at -1:", distuv.LogNormal{Mu: 0, Sigma: 1}.CDF(-1))
	fmt.Println("F.Prob at -1:", distuv.F{D1: 3, D2: 5}.Prob(-1))
}
GO
