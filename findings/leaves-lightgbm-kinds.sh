#!/usr/bin/env bash
# github.com/dmitryikh/leaves 25d19a787328 × lightgbm 3.3.5, which writes the version of model files
# that it reads: three kinds of models are read without an error and predict other numbers. Of
# linear trees it takes the constant that stands beside a leaf's line; with reg_sqrt it leaves the
# root that was learnt as it is; and of a binary random forest, which it documents to support, it
# gives the mean of the log-odds, above 1 or below 0, as the probability. Guess before: LightGBM's
# predictions to 1e-6, or an error, which is what comes for other objectives that it does not know.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

in_module github.com/dmitryikh/leaves@v0.0.0-20230708180554-25d19a787328
with_python --no-deps lightgbm==3.3.5 numpy==2.4.6 scipy==1.17.1
cat > train.py <<'PY'
import lightgbm

xs = [number / 100 for number in range(400)]
squares, signs = [x * x for x in xs], [int(x > 2) for x in xs]
kinds = {
    "plain": ({}, squares),
    "linear": ({"linear_tree": True}, squares),
    "sqrt": ({"reg_sqrt": True}, squares),
    "binary": ({"objective": "binary"}, signs),
    "forest": ({"objective": "binary", "boosting": "rf", "bagging_freq": 1,
                "bagging_fraction": 0.5}, signs),
    "quantile": ({"objective": "quantile"}, squares),
}
with open("asked.csv", "w") as file: # files, as this LightGBM is from before NumPy 2
    file.writelines(f"0,{x}\n" for x in (0.5, 1.5, 2.5, 3.5))
for name, (parameters, labels) in kinds.items():
    with open("rows.csv", "w") as file:
        file.writelines(f"{label},{x}\n" for label, x in zip(labels, xs))
    parameters = {"objective": "regression", "verbose": -1, "num_threads": 1, "seed": 1,
                  "deterministic": True, "num_leaves": 7, **parameters}
    model = lightgbm.train(parameters, lightgbm.Dataset("rows.csv", params=parameters), 50)
    model.save_model(name + ".txt")
    print(f"LightGBM, {name}:", " ".join(f"{value:.2f}" for value in model.predict("asked.csv")))
PY
cat > main.go <<'GO'
package main

import (
	"fmt"

	"github.com/dmitryikh/leaves"
)

func main() {
	for _, name := range []string{"plain", "linear", "sqrt", "binary", "forest", "quantile"} {
		fmt.Printf("leaves, %s:", name)
		model, err := leaves.LGEnsembleFromFile(name+".txt", true)
		if err != nil {
			fmt.Println("", err)
			continue
		}
		for _, x := range []float64{0.5, 1.5, 2.5, 3.5} {
			fmt.Printf(" %.2f", model.PredictSingle([]float64{x}, 0))
		}
		fmt.Println()
	}
}
GO
expect 'LightGBM, plain: 0.28 2.29 6.29 12.20
LightGBM, linear: 0.30 2.25 6.21 12.20
LightGBM, sqrt: 0.27 2.26 6.29 12.27
LightGBM, binary: 0.00 0.00 1.00 1.00
LightGBM, forest: 0.12 0.12 0.88 0.88
LightGBM, quantile: 4.94 4.94 6.31 12.50
leaves, plain: 0.28 2.29 6.29 12.20
leaves, linear: 0.48 2.29 6.29 12.07
leaves, sqrt: 0.52 1.50 2.51 3.50
leaves, binary: 0.00 0.00 1.00 1.00
leaves, forest: -2.00 -2.00 2.00 2.00
leaves, quantile: unexpected objective field: '"'quantile'" sh -c 'python3 train.py && go run .'
