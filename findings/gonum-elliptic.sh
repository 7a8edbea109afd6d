#!/usr/bin/env bash
# gonum 0.17.0: EllipticF and EllipticE of mathext go back to 0 beyond the angle π/2, where the
# integrals that their documentation defines grow on: they take the sine of the angle, and so the
# angle π has the value of 0. The documentation limits m, not the angle. So half the circumference
# of an ellipse is 0, and the time of a turning pendulum runs back. There is no error. Up to π/2 all
# is right. Guess before: eight digits, as SciPy has, over the documented domain.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go gonum.org/v1/gonum@v0.17.0 'angle 0.25 π: F 0.851 = 0.851, E 0.728 = 0.728
angle 0.50 π: F 2.157 = 2.157, E 1.211 = 1.211
angle 0.75 π: F 0.851, the integral 3.462, E 0.728, the integral 1.694
angle 1.00 π: F 0.000, the integral 4.313, E 0.000, the integral 2.422
angle 1.25 π: F -0.851, the integral 5.164, E -0.728, the integral 3.150' <<'GO'
package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mathext"
)

func main() {
	const m = 0.75
	e := func(theta float64) float64 { return math.Sqrt(1 - m*math.Pow(math.Sin(theta), 2)) }
	f := func(theta float64) float64 { return 1 / e(theta) }
	for _, half := range []float64{0.25, 0.5, 0.75, 1, 1.25} {
		phi := half * math.Pi
		fmt.Printf("angle %.2f π: F %s, E %s\n", half, compare(mathext.EllipticF(phi, m), f, phi),
			compare(mathext.EllipticE(phi, m), e, phi))
	}
}

func compare(got float64, f func(float64) float64, phi float64) string {
	integral := quad.Fixed(f, 0, phi, 200, nil, 0)
	if math.Abs(got-integral) < 1e-8 {
		return fmt.Sprintf("%.3f = %.3f", got, integral)
	}
	return fmt.Sprintf("%.3f, the integral %.3f", got, integral)
}
GO
