#!/usr/bin/env bash
# GoMLX 0.28.3: the gradient of Convolve by its input is shifted by one place along every axis on
# which the kernel has an even size, such as the 2 of a patch or of downsampling, on every backend,
# with each padding and stride, and there is no error. What leaves the last place is lost and 0
# comes in. Odd sizes and the gradient by the kernel are right. So all layers before such a
# convolution learn from the gradient of a neighbour. Guess before: the gradient that the finite
# differences say. Here: six numbers, a kernel of ones, and a sum of the outputs weighted by 1, 2, 3
# and so on.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_gradients 'go, kernel 2, stride 1: gradient [3 5 7 9 5 0], by differences [1 3 5 7 9 5]
go, kernel 2, stride 2: gradient [1 2 2 3 3 0], by differences [1 1 2 2 3 3]
go, kernel 3, stride 1: gradient [1 3 6 9 7 4], by differences [1 3 6 9 7 4]
go, kernel 4, stride 1: gradient [3 6 6 5 3 0], by differences [1 3 6 6 5 3]
xla, kernel 2, stride 1: gradient [3 5 7 9 5 0], by differences [1 3 5 7 9 5]
xla, kernel 2, stride 2: gradient [1 2 2 3 3 0], by differences [1 1 2 2 3 3]
xla, kernel 3, stride 1: gradient [1 3 6 9 7 4], by differences [1 3 6 9 7 4]
xla, kernel 4, stride 1: gradient [3 6 6 5 3 0], by differences [1 3 6 6 5 3]' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
)

type kind struct{ size, stride int }

func (k kind) String() string { return fmt.Sprintf("kernel %d, stride %d", k.size, k.stride) }

var cases = []kind{{2, 1}, {2, 2}, {3, 1}, {4, 1}}

func cost(x *Node, of kind) *Node {
	kernel := OnesLike(Reshape(Const(x.Graph(), make([]float64, of.size)), -1, 1, 1))
	y := Convolve(Reshape(x, 1, -1, 1), kernel).NoPadding().Strides(of.stride).Done()
	return ReduceAllSum(Mul(y, OnePlus(Iota(y.Graph(), y.Shape(), 1))))
}
GO
