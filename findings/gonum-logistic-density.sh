#!/usr/bin/env bash
# gonum 0.17.0: Logistic.LogProb ignores Mu and S, it is the one of the standard distribution. Prob
# is right. So the likelihood of a sample is the same for all parameters, and a fit finds nothing.
# The documentation promises the logarithm of the density. Guess before: the functions of all
# distributions agree with SciPy to six digits.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'Mu 0, S 1: LogProb(3) = -3.0972, log of Prob(3) = -3.0972
Mu 3, S 1: LogProb(3) = -3.0972, log of Prob(3) = -1.3863
Mu 3, S 5: LogProb(3) = -3.0972, log of Prob(3) = -2.9957' <<'GO'
package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

func main() {
	for _, d := range []distuv.Logistic{{Mu: 0, S: 1}, {Mu: 3, S: 1}, {Mu: 3, S: 5}} {
		fmt.Printf("Mu %v, S %v: LogProb(3) = %.4f, log of Prob(3) = %.4f\n",
			d.Mu, d.S, d.LogProb(3), math.Log(d.Prob(3)))
	}
}
GO
