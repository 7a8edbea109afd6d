#!/usr/bin/env bash
# github.com/nlpodyssey/spago 1.1.0: Adam, used by the package's own Optimizer, corrects the bias of
# its moments as if every step were the first: Optimize does not call IncExample, which counts the
# steps. With a constant gradient each step of Adam is the learning rate (Kingma and Ba, algorithm
# 1: both corrected moments are constant); here the steps grow to twice the rate and fall to a third
# of it. AdamW is the same. Guess before: the learning rate, as in PyTorch.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

in_module github.com/nlpodyssey/spago/optimizers/adam@v1.1.0
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"

	"github.com/nlpodyssey/spago/mat"
	"github.com/nlpodyssey/spago/nn"
	"github.com/nlpodyssey/spago/optimizers"
	"github.com/nlpodyssey/spago/optimizers/adam"
)

const rate = 0.001

func main() {
	strategy := adam.New(adam.NewConfig(rate, 0.9, 0.999, 1e-8))
	show("Optimizer", strategy, func() {})
	strategy = adam.New(adam.NewConfig(rate, 0.9, 0.999, 1e-8))
	show("Optimizer and IncExample", strategy, strategy.IncExample)
}

// show prints some steps, divided by the learning rate, with the gradient 1.
func show(name string, strategy *adam.Adam, after func()) {
	parameter := nn.NewParam(mat.NewDense[float64](mat.WithBacking([]float64{0})))
	awaited := waiting{strategy, make(chan struct{})}
	optimizer := optimizers.New(func(context.Context) <-chan *nn.Param {
		parameters := make(chan *nn.Param, 1)
		parameters <- parameter
		close(parameters)
		return parameters
	}, awaited)
	fmt.Printf("%s:", name)
	for step := 1; step <= 10000; step++ {
		before := parameter.Item().F64()
		parameter.ZeroGrad()
		parameter.AccGrad(mat.NewDense[float64](mat.WithBacking([]float64{1})))
		if err := optimizer.Optimize(); err != nil {
			panic(err)
		}
		<-awaited.done
		after()
		switch step {
		case 1, 2, 10, 100, 1000, 10000:
			fmt.Printf(" %d %.2f", step, (before-parameter.Item().F64())/rate)
		}
	}
	fmt.Println()
}

// waiting is a strategy that tells when it is done.
type waiting struct {
	strategy *adam.Adam
	done     chan struct{}
}

func (s waiting) OptimizeParams(parameter *nn.Param) error {
	err := s.strategy.OptimizeParams(parameter)
	s.done <- struct{}{}
	return err
}
GO
expect 'Optimizer: 1 1.00 2 1.34 10 2.06 100 1.02 1000 0.40 10000 0.32
Optimizer and IncExample: 1 1.00 2 1.00 10 1.00 100 1.00 1000 1.00 10000 1.00' go run .
