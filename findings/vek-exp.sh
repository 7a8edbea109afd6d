#!/usr/bin/env bash
# github.com/viterin/vek 0.4.3 on a processor with AVX2 and FMA: vek32.Exp of less than -88.4 is not
# near 0 but -Inf, NaN or as much as -2e38, so that a softmax over logits that are 90 apart is
# wrong. Exp of NaN is 0, Log of 0 NaN, and Log of +Inf 88.7. The numbers behind the last multiple
# of eight, computed one by one, are right but for subnormals, as are all with
# SetAcceleration(false). The documentation names no range. Guess before: within 2 ulp of Go's math,
# with NaN and infinities.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/viterin/vek@v0.4.3 'exp(-87): true 1.65e-38, false 1.65e-38, math 1.65e-38
exp(-88.5): true -Inf, false 0, math 3.67e-39
exp(-89): true NaN, false 0, math 2.23e-39
exp(-89.25): true -2.01e+38, false 0, math 1.73e-39
exp(-100): true -4.31e+33, false 0, math 3.72e-44
exp(-Inf): true 0, false 0, math 0
exp(NaN): true 0, false NaN, math NaN
log(0): true NaN, false -Inf, math -Inf
log(+Inf): true 88.7, false +Inf, math +Inf
softmax of seven 0 and -89.25, the last two: true [-4.98e-39 1], false [0.143 0]' <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/viterin/vek/vek32"
)

func main() {
	for _, x := range []float64{-87, -88.5, -89, -89.25, -100, math.Inf(-1), math.NaN()} {
		show("exp", x, vek32.Exp, math.Exp)
	}
	show("log", 0, vek32.Log, math.Log)
	show("log", math.Inf(1), vek32.Log, math.Log)
	logits := append(eight(0)[:7], -89.25)
	fmt.Print("softmax of seven 0 and -89.25, the last two: ")
	vek32.SetAcceleration(true)
	fmt.Printf("true %.3g, ", softMax(logits)[6:])
	vek32.SetAcceleration(false)
	fmt.Printf("false %.3g\n", softMax(logits)[6:])
}

// show prints f(x) with and without acceleration, and what Go's math says.
func show(name string, x float64, f func([]float32) []float32, math func(float64) float64) {
	fmt.Printf("%s(%v): ", name, x)
	for _, accelerated := range []bool{true, false} {
		vek32.SetAcceleration(accelerated)
		fmt.Printf("%v %.3g, ", accelerated, f(eight(x))[0])
	}
	fmt.Printf("math %.3g\n", math(x))
}

func eight(x float64) []float32 {
	return vek32.Repeat(float32(x), 8)
}

// softMax of logits of which the largest is 0.
func softMax(logits []float32) []float32 {
	exponentials := vek32.Exp(logits)
	return vek32.DivNumber(exponentials, vek32.Sum(exponentials))
}
GO
