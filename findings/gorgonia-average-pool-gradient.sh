#!/usr/bin/env bash
# gorgonia.org/gorgonia 0.9.18: the gradient of AveragePool2D goes to other pixels than those of
# which a mean was taken: here to the first window's alone, a window to each of its pixels, so that
# three quarters of the picture get 0. The mean itself is right, and there is no error. Guess
# before: each pixel gets its window's gradient by the window's size, as finite differences of the
# cost say.
set -euo pipefail
# shellcheck source=findings/lib/gorgonia.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gorgonia.sh"

in_gorgonia gorgonia.org/gorgonia@v0.9.18 gorgonia.org/tensor@v0.9.24
cat > main.go <<'GO'
package main

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func main() {
	picture := make([]float64, 16)
	for i := range picture {
		picture[i] = float64(i)
	}
	_, gradient := cost(picture)
	differences := make([]float64, 16)
	for i := range differences {
		picture[i] += 0.5
		more, _ := cost(picture)
		picture[i]--
		less, _ := cost(picture)
		picture[i] += 0.5
		differences[i] = more - less
	}
	for _, of := range []struct {
		name   string
		values []float64
	}{{"gradient", gradient}, {"finite differences", differences}} {
		fmt.Println(of.name)
		for row := range 4 {
			fmt.Println(of.values[row*4 : row*4+4])
		}
	}
}

// cost is 4 a + 8 b + 12 c + 16 d, where a, b, c and d are the means of the quarters of a picture
// of four by four pixels, and its gradient.
func cost(picture []float64) (float64, []float64) {
	graph := G.NewGraph()
	x := variable(graph, "x", append([]float64{}, picture...), 1, 1, 4, 4)
	weights := variable(graph, "weights", []float64{4, 8, 12, 16}, 1, 1, 2, 2)
	means := G.Must(G.AveragePool2D(x, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
	sum := G.Must(G.Sum(G.Must(G.HadamardProd(means, weights))))
	_, err := G.Grad(sum, x)
	check(err)
	machine := G.NewTapeMachine(graph, G.BindDualValues(x))
	check(machine.RunAll())
	gradient, err := x.Grad()
	check(err)
	return sum.Value().Data().(float64), gradient.Data().([]float64)
}

func variable(graph *G.ExprGraph, name string, values []float64, shape ...int) *G.Node {
	return G.NewTensor(graph, G.Float64, len(shape), G.WithName(name), G.WithShape(shape...),
		G.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
expect 'gradient
[1 2 0 0]
[3 4 0 0]
[0 0 0 0]
[0 0 0 0]
finite differences
[1 1 2 2]
[1 1 2 2]
[3 3 4 4]
[3 3 4 4]' go run .
