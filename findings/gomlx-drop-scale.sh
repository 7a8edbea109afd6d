#!/usr/bin/env bash
# GoMLX 0.28.3: DropBlock and DropPath leave what they keep as it is. The paper that DropBlock
# names (Ghiasi and others, 2018), torchvision's two layers and GoMLX's own Dropout scale it up by
# the share that is kept. So what comes behind sees a smaller mean in training than in use: without
# an error, and the more is dropped, the worse. (The Go backend cannot run DropBlock.) Guess
# before: scaled up, as by Dropout. Here: the largest of 32,768 activations of 1, with a
# probability of 0.5.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, Dropout: largest 2
go, DropPath: largest 1
go, DropBlock: dtype Bool not supported by reduceWindowMinDTypeMap -- if you need it, consider creating an issue to add support in github.com/gomlx/gomlx
xla, Dropout: largest 2
xla, DropPath: largest 1
xla, DropBlock: largest 1' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
)

var cases = []string{"Dropout", "DropPath", "DropBlock"}

const cause = "executing ReduceWindow: " // what stands before the cause of an error

func result(backend compute.Backend, name string) any {
	largest := model.MustNewExec(backend, model.NewStore(), func(scope *model.Scope, x *Node) *Node {
		scope.Store().SetTraining(x.Graph(), true)
		ones := OnesLike(BroadcastToDims(x, 32, 16, 16, 4))
		half := Const(x.Graph(), float32(0.5))
		switch name {
		case "Dropout":
			return ReduceAllMax(layers.Dropout(scope, ones, half))
		case "DropPath":
			return ReduceAllMax(layers.DropPath(scope, ones, half))
		}
		return ReduceAllMax(layers.DropBlock(scope, ones).WithDropoutProbability(0.5).Done())
	}).MustCall(float32(1))[0].Value()
	return fmt.Sprint("largest ", largest)
}
GO
