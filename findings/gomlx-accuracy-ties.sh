#!/usr/bin/env bash
# GoMLX 0.28.3: SparseCategoricalAccuracyGraph says that ties are misses, but gives them to the
# first class, on every backend. So a model whose scores are all equal, such as one that starts
# from zeros or one that has died, has the share of class 0 as accuracy, and all of it where only
# class 0 is asked. Guess before: an accuracy of 0, as the documentation says. Here: four images,
# three classes.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, labels 0 0 0 0: 1
go, labels 0 1 2 0: 0.5
go, labels 1 1 2 2: 0
xla, labels 0 0 0 0: 1
xla, labels 0 1 2 0: 0.5
xla, labels 1 1 2 2: 0' <<'GO'
package main

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/train/metric"
)

type labels [4]int32

func (l labels) String() string { return fmt.Sprintf("labels %d %d %d %d", l[0], l[1], l[2], l[3]) }

var cases = []labels{{0, 0, 0, 0}, {0, 1, 2, 0}, {1, 1, 2, 2}}

const cause = "panicked: " // what stands before the cause of an error

// result is the accuracy of equal scores.
func result(backend compute.Backend, l labels) any {
	return MustNewExec(backend, func(labels *Node) *Node {
		scores := Const(labels.Graph(), [][]float32{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}})
		return metric.SparseCategoricalAccuracyGraph(nil, []*Node{labels}, []*Node{scores})
	}).MustCall1([][]int32{{l[0]}, {l[1]}, {l[2]}, {l[3]}}).Value()
}
GO
