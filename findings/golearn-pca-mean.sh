#!/usr/bin/env bash
# github.com/sjwhitworth/golearn 74ae077eafb2: pca.Transform does not subtract the means, which Fit
# does not keep. FitTransform seems right because Fit subtracts them in the caller's own matrix. So
# the same rows, once as training set and once as test set, come out a whole mean apart, here 223.6
# where their spread is 13. All that compares the two, nearest neighbours or a classifier, is wrong,
# and the training set is no longer what it was. There is no error, and the documentation tells of
# neither. Guess before, from the textbook: (x - mean)·v for each row, so that equal rows have equal
# scores and the mean has 0. Here: points on a line, whose scores are their distances from the mean.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/sjwhitworth/golearn@v0.0.0-20221228163002-74ae077eafb2 \
  'distances from the mean: [-6.7 -2.2 2.2 6.7]
scores of the training set: [-6.7 -2.2 2.2 6.7]
scores of the same rows: [216.9 221.4 225.8 230.3]
score of their mean: [223.6]
training set before: [97 194 99 198 101 202 103 206]
training set after: [-3 -6 -1 -2 1 2 3 6]' <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/sjwhitworth/golearn/pca"
	"gonum.org/v1/gonum/mat"
)

func main() {
	rows := []float64{97, 194, 99, 198, 101, 202, 103, 206}
	mean := []float64{100, 200}
	var distances []float64
	for i := 0; i < len(rows); i += 2 {
		distances = append(distances, (rows[i]-mean[0]+2*(rows[i+1]-mean[1]))/math.Sqrt(5))
	}
	fmt.Printf("distances from the mean: %.1f\n", distances)

	train := mat.NewDense(4, 2, append([]float64{}, rows...))
	model := pca.NewPCA(1)
	show("scores of the training set", model.FitTransform(train))
	show("scores of the same rows", model.Transform(mat.NewDense(4, 2, rows)))
	show("score of their mean", model.Transform(mat.NewDense(1, 2, mean)))
	fmt.Printf("training set before: %v\n", rows)
	fmt.Printf("training set after: %.0f\n", train.RawMatrix().Data)
}

func show(title string, scores *mat.Dense) {
	fmt.Printf("%s: %.1f\n", title, scores.RawMatrix().Data)
}
GO
