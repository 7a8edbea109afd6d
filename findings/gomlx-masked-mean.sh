#!/usr/bin/env bash
# GoMLX 0.28.3: the mean of a metric over batches, such as NewSparseCategoricalAccuracy, takes
# masks and weights within a batch, but counts a batch by its size: a padded batch, of which the
# mask leaves one example, weighs as much as a full one. Evaluations whose last batch is padded are
# wrong on every backend, without an error. Guess before: the mean over all examples that no mask
# excludes. Here: four hits in a full batch, and one miss in a batch padded to four.
set -euo pipefail
# shellcheck source=findings/lib/gomlx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/gomlx.sh"

compare_backends 'go, accuracy of 4 hits and 1 miss: 0.5
xla, accuracy of 4 hits and 1 miss: 0.5' <<'GO'
package main

import (
	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/metric"
)

var cases = []string{"accuracy of 4 hits and 1 miss"}

const cause = "panicked: " // what stands before the cause of an error

func result(backend compute.Backend, _ string) any {
	accuracy := metric.NewSparseCategoricalAccuracy("accuracy", "accuracy")
	update := model.MustNewExec(backend, model.NewStore(),
		func(scope *model.Scope, labels, mask, scores *Node) *Node {
			return accuracy.UpdateGraph(scope, []*Node{labels, mask}, []*Node{scores})
		})
	labels := [][]int32{{0}, {0}, {0}, {0}}
	hit, miss := []float32{1, 0}, []float32{0, 1}
	update.MustCall(labels, []bool{true, true, true, true}, [][]float32{hit, hit, hit, hit})
	return update.MustCall(labels, []bool{true, false, false, false},
		[][]float32{miss, hit, hit, hit})[0].Value()
}
GO
