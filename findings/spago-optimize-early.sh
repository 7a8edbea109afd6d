#!/usr/bin/env bash
# github.com/nlpodyssey/spago 1.1.0: Optimize of the package optimizers starts a goroutine for each
# parameter and returns, without an error, before they are done: it waits for them only after an
# error. So the next forward pass, a checkpoint or ZeroGrad works on weights that are the old ones
# or half of them. Here one weight of a large matrix is the old one after Optimize, and the new one
# a while later. Guess before: the new one, as after the step of every other library.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

in_module github.com/nlpodyssey/spago/optimizers/sgd@v1.1.0
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nlpodyssey/spago/mat"
	"github.com/nlpodyssey/spago/nn"
	"github.com/nlpodyssey/spago/optimizers"
	"github.com/nlpodyssey/spago/optimizers/sgd"
)

func main() {
	const size = 20_000_000 // an embedding, say
	parameter := nn.NewParam(filled(size, 1))
	parameter.AccGrad(filled(size, 1))
	optimizer := optimizers.New(func(context.Context) <-chan *nn.Param {
		parameters := make(chan *nn.Param, 1)
		parameters <- parameter
		close(parameters)
		return parameters
	}, sgd.New[float32](sgd.NewConfig(0.5, 0, false)))
	if err := optimizer.Optimize(); err != nil {
		panic(err)
	}
	fmt.Println("after Optimize:", parameter.At(size-1).Item())
	for range 600 { // a minute at most
		if parameter.At(size-1).Item().F64() != 1 {
			break
		}
		time.Sleep(time.Second / 10)
	}
	fmt.Println("later:", parameter.At(size-1).Item())
}

func filled(size int, value float32) mat.Matrix {
	values := make([]float32, size)
	for i := range values {
		values[i] = value
	}
	return mat.NewDense[float32](mat.WithBacking(values))
}
GO
expect 'after Optimize: 1
later: 0.5' go run .
