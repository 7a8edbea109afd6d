#!/usr/bin/env bash
# github.com/dmitryikh/leaves 25d19a787328 × xgboost 0.90, whose files it documents to read: a value
# that is equal to the threshold of a split takes the left branch, where XGBoost, which asks whether
# it is less, takes the right one. With the histogram method thresholds are values of the data, so
# that of whole numbers (counts, ages, years) even rows of the training set get the prediction of
# another one: here all but two of 20. There is no error. Guess before: XGBoost's predictions to
# 1e-6, as they are for values that are no threshold.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

in_module github.com/dmitryikh/leaves@v0.0.0-20230708180554-25d19a787328
with_python --no-deps xgboost==0.90 numpy==2.4.6 scipy==1.17.1
for feature in {0..19}; do
  echo "$((10 * feature)) 0:$feature" # the label of a row is ten times its feature
done > rows.libsvm
cat > train.py <<'PY'
import xgboost

rows = xgboost.DMatrix("rows.libsvm?indexing_mode=0", silent=True)
parameters = {"tree_method": "hist", "max_depth": 6, "eta": 1, "lambda": 0, "base_score": 0,
              "min_child_weight": 0, "silent": 1, "nthread": 1}
model = xgboost.train(parameters, rows, 1)
model.save_model("tree.model")
print("XGBoost: [" + " ".join(f"{value:.0f}" for value in model.predict(rows)) + "]")
PY
cat > main.go <<'GO'
package main

import (
	"fmt"

	"github.com/dmitryikh/leaves"
)

func main() {
	model, err := leaves.XGEnsembleFromFile("tree.model", false)
	if err != nil {
		panic(err)
	}
	for _, shift := range []float64{0, 0.001} {
		var predictions []float64
		for feature := range 20 {
			row := []float64{float64(feature) + shift}
			predictions = append(predictions, model.PredictSingle(row, 0))
		}
		fmt.Printf("leaves, features + %v: %.0f\n", shift, predictions)
	}
}
GO
expect 'XGBoost: [0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 170 185 185]
leaves, features + 0: [0 0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 170 185]
leaves, features + 0.001: [0 10 20 30 40 50 60 70 80 90 100 110 120 130 140 150 160 170 185 185]' \
  sh -c 'python3 train.py && go run .'
