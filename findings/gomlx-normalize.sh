#!/usr/bin/env bash
# GoMLX 0.28.3: layers.Normalize should give mean 0 and variance 1 for each entry of the axes that
# it is told. With axis 0 it takes all numbers together, and divides by the root of the sum of
# squares, not of their mean, so that the variance is 1 by their count; there is no error. With
# axis 1 it ends with an error on every backend, and with -1, which its documentation calls
# typical, with another one. Guess before: as documented. Here: four rows of two numbers.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, axis 0: means of rows -0.21 -0.10 0.00 0.31, variance 0.125
go, axis 1: total requested size 2 (dimensions=[1 2]) doesnt match original size 1 (dimensions [])
xla, axis 0: means of rows -0.21 -0.10 0.00 0.31, variance 0.125
xla, axis 1: duplicate value for axes[1]=0 for Reduce, axes=[0 0])' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
)

type axis int

func (a axis) String() string { return fmt.Sprintf("axis %d", int(a)) }

var cases = []axis{0, 1}

const cause = "panicked: " // what stands before the cause of an error

func result(backend compute.Backend, one axis) any {
	y := MustNewExec(backend, func(x *Node) *Node {
		return layers.Normalize(x, int(one))
	}).MustCall1([][]float64{{1, 10}, {2, 20}, {3, 30}, {6, 60}}).Value().([][]float64)
	shown, squares := "means of rows", 0.0
	for _, row := range y {
		shown += fmt.Sprintf(" %.2f", (row[0]+row[1])/2)
		squares += row[0]*row[0] + row[1]*row[1]
	}
	return fmt.Sprintf("%s, variance %.3f", shown, squares/8)
}
GO
