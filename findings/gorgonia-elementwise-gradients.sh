#!/usr/bin/env bash
# gorgonia.org/gorgonia 0.9.18: the gradients of Log2 and InverseSqrt are not their derivatives, 1 /
# (x ln 2) and -x^(-3/2) / 2, but ln 2 / x and -x^(3/2) / 2, and there is no error: the one is half
# as large, the other is off by x^3. The functions are right, and so are the gradients of Log and
# Sqrt. Guess before: the derivatives, which finite differences confirm.
set -euo pipefail
# shellcheck source=findings/lib/gorgonia.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gorgonia.sh"

in_gorgonia gorgonia.org/gorgonia@v0.9.18 gorgonia.org/tensor@v0.9.24
cat > main.go <<'GO'
package main

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func main() {
	for _, x := range []float64{0.25, 4} {
		show("Log2", x, G.Log2, 1/(x*math.Ln2))
		show("InverseSqrt", x, G.InverseSqrt, -math.Pow(x, -1.5)/2)
		show("Log", x, G.Log, 1/x)
		show("Sqrt", x, G.Sqrt, math.Pow(x, -0.5)/2)
	}
}

func show(name string, x float64, function func(*G.Node) (*G.Node, error), derivative float64) {
	less, _ := run(x-1e-6, function)
	more, _ := run(x+1e-6, function)
	value, gradient := run(x, function)
	fmt.Printf("%s(%v) = %.5g: gradient %.4f, derivative %.4f, by differences %.4f\n",
		name, x, value, gradient, derivative, (more-less)/2e-6)
}

// run is the function's value at x, and its gradient.
func run(x float64, function func(*G.Node) (*G.Node, error)) (float64, float64) {
	graph := G.NewGraph()
	node := G.NewVector(graph, G.Float64, G.WithName("x"), G.WithShape(2),
		G.WithValue(tensor.New(tensor.WithShape(2), tensor.WithBacking([]float64{x, x}))))
	result, err := function(node)
	check(err)
	sum := G.Must(G.Sum(result))
	_, err = G.Grad(sum, node)
	check(err)
	machine := G.NewTapeMachine(graph, G.BindDualValues(node))
	check(machine.RunAll())
	gradient, err := node.Grad()
	check(err)
	return sum.Value().Data().(float64) / 2, gradient.Data().([]float64)[0]
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
expect 'Log2(0.25) = -2: gradient 2.7726, derivative 5.7708, by differences 5.7708
InverseSqrt(0.25) = 2: gradient -0.0625, derivative -4.0000, by differences -4.0000
Log(0.25) = -1.3863: gradient 4.0000, derivative 4.0000, by differences 4.0000
Sqrt(0.25) = 0.5: gradient 1.0000, derivative 1.0000, by differences 1.0000
Log2(4) = 2: gradient 0.1733, derivative 0.3607, by differences 0.3607
InverseSqrt(4) = 0.5: gradient -4.0000, derivative -0.0625, by differences -0.0625
Log(4) = 1.3863: gradient 0.2500, derivative 0.2500, by differences 0.2500
Sqrt(4) = 2: gradient 0.2500, derivative 0.2500, by differences 0.2500' go run .
