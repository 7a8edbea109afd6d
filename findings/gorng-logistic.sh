#!/usr/bin/env bash
# github.com/leesper/go_rng a612b043e353: Logistic draws from Laplace's distribution. It takes the
# logarithm of u / (1 - v) with two numbers u and v, where one number u / (1 - u) makes the logistic
# distribution. So the variance is 2 s² for 3.29 s², and tails are thin. Guess before: the logistic
# distribution, as the documentation says. Its function is 1 / (1 + exp(-(x - mu) / s)).
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/leesper/go_rng@v0.0.0-20190531154944-a612b043e353 \
  'variance 2.00, logistic 3.29, Laplace 2
below -3: 0.025, logistic 0.047, Laplace 0.025
below -1: 0.184, logistic 0.269, Laplace 0.184
below 0: 0.500, logistic 0.500, Laplace 0.500' <<'GO'
package main

import (
	"fmt"
	"math"

	rng "github.com/leesper/go_rng"
)

func main() {
	const count = 10_000_000
	generator := rng.NewLogisticGenerator(1)
	values, squares := make([]float64, count), 0.
	for i := range values {
		values[i] = generator.Logistic(0, 1)
		squares += values[i] * values[i]
	}
	fmt.Printf("variance %.2f, logistic %.2f, Laplace 2\n", squares/count, math.Pi*math.Pi/3)
	for _, bound := range []float64{-3, -1, 0} {
		below := 0.
		for _, value := range values {
			if value < bound {
				below++
			}
		}
		fmt.Printf("below %v: %.3f, logistic %.3f, Laplace %.3f\n",
			bound, below/count, 1/(1+math.Exp(-bound)), math.Exp(bound)/2)
	}
}
GO
