#!/usr/bin/env bash
# gonum 0.17.0: Survival of Normal, F and Binomial is 1 - CDF, so a p value below 1e-16 is 0 or noise:
# Normal.Survival(9) is 0, while Normal.CDF(-9), the same number, is right. StudentsT.Survival is
# right. Guess before: eight digits, as in CDF.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'Normal 0 = 1.129e-19
Student 1.31e-23 = 1.31e-23
F 1.11e-16, SciPy 1.17: 1.244e-18' <<'GO'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"
)

func main() {
	normal := distuv.UnitNormal
	fmt.Printf("Normal %.4g = %.4g\n", normal.Survival(9), normal.CDF(-9))
	student := distuv.StudentsT{Sigma: 1, Nu: 1000}
	fmt.Printf("Student %.3g = %.3g\n", student.Survival(10.2), student.CDF(-10.2))
	fmt.Printf("F %.3g, SciPy 1.17: 1.244e-18\n", distuv.F{D1: 3, D2: 8}.Survival(1e5))
}
GO
