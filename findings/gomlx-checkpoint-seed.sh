#!/usr/bin/env bash
# GoMLX 0.28.3: a checkpoint keeps hyperparameters as JSON numbers and reads them as float64. So the
# seed of initial values, an int64, comes back rounded if it is above 2^53, as all are that were
# taken from a clock in nanoseconds: a run that goes on has another seed than it began with. Types
# come back as they were, and nothing says that digits are lost. Guess before: bit by bit.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/gomlx/gomlx@v0.28.3 '9007199254740991 comes back as int64 9007199254740991
1700000000123456789 comes back as int64 1700000000123456768' <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/checkpoint"
)

func main() {
	for _, seed := range []int64{1<<53 - 1, 1700000000123456789} {
		folder, err := os.MkdirTemp("", "checkpoint")
		check(err)
		defer os.RemoveAll(folder)
		saved, loaded := model.NewStore(), model.NewStore()
		saved.SetParam(model.ParamInitialSeed, seed)
		handler, err := checkpoint.Build(saved).Dir(folder).Done()
		check(err)
		check(handler.Save())
		_, err = checkpoint.Build(loaded).Dir(folder).Done()
		check(err)
		value, _ := loaded.GetParam(model.ParamInitialSeed)
		fmt.Printf("%d comes back as %T %v\n", seed, value, value)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
GO
