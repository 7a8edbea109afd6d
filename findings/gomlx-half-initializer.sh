#!/usr/bin/env bash
# GoMLX 0.28.3: initializer.RandomNormalFn gives a variable of bfloat16 or float16 nothing but zeros,
# RandomUniformFn random numbers. So weights in half precision all start as 0, without an error, on
# every backend. Guess before, from the documentation ("non-float and non-complex variables are
# initialized with zero"): random numbers, as these are floats.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, normal Float32: 0 of 1000 are 0
go, normal BFloat16: 1000 of 1000 are 0
go, normal Float16: 1000 of 1000 are 0
go, uniform BFloat16: 0 of 1000 are 0
xla, normal Float32: 0 of 1000 are 0
xla, normal BFloat16: 1000 of 1000 are 0
xla, normal Float16: 1000 of 1000 are 0
xla, uniform BFloat16: 0 of 1000 are 0' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"
)

var cases = []string{"normal Float32", "normal BFloat16", "normal Float16", "uniform BFloat16"}

const cause = "panicked: "

// result counts the zeros among 1000 initial values.
func result(backend compute.Backend, what string) any {
	var kind, name string
	fmt.Sscan(what, &kind, &name)
	dtype, err := dtypes.DTypeString(name)
	if err != nil {
		panic(err)
	}
	zeros := model.MustNewExec(backend, model.NewStore(), func(scope *model.Scope, g *Graph) *Node {
		initial := initializer.RandomNormalFn(scope, 0.5)
		if kind == "uniform" {
			initial = initializer.RandomUniformFn(scope, 1, 2)
		}
		values := ConvertDType(initial(g, shapes.Make(dtype, 1000)), dtypes.Float32)
		return ReduceAllSum(ConvertDType(Equal(values, ZerosLike(values)), dtypes.Float32))
	}).MustCall()[0]
	return fmt.Sprint(zeros.Value(), " of 1000 are 0")
}
GO
