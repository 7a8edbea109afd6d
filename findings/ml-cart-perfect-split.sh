#!/usr/bin/env bash
# ml-cart 2.1.1, and ml-random-forest 2.1.0, which builds on it: a regression tree refuses a split
# that explains its rows completely, and predicts their mean. For regression the "gain" of a split
# is the squared error that is left after it, but TreeNode.train, as for the Gini gain of classes,
# wants more than 0. So where the target has a few exact levels (counts, grades, 0 and 1, a
# schedule) the last and best splits are lost, and of two levels the only one; there is no error.
# Noise of 1e-9 brings them back. Guess before, from the textbook: trees fit a step of their feature
# exactly, at the default minNumSamples of 3, with noise or without. Here: 20 rows, x = 0 … 19,
# whose target has levels in equal parts, and the prediction in the middle of each part.
# Needs Node 20 or later with npm.
set -euo pipefail
# shellcheck source=findings/lib/npm.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/npm.sh"

run_node 'levels 0 1: tree 0.50 0.50, forest 0.50 0.50
levels 0 1, noise 1e-9: tree 0.00 1.00, forest 0.00 1.00
levels 0 1 2 3: tree 0.50 0.50 2.50 2.50, forest 0.50 0.50 2.50 2.50
levels 0 1 2 3, noise 1e-9: tree 0.00 1.00 2.00 3.00, forest 0.00 1.00 2.00 3.00' \
  ml-cart@2.1.1 ml-random-forest@2.1.0 ml-matrix@6.15.1 ml-array-mean@1.1.6 random-js@2.1.0 <<'JS'
const {DecisionTreeRegression} = require("ml-cart");
const {RandomForestRegression} = require("ml-random-forest");

const rows = Array.from({length: 20}, (_, x) => [x]);
for (const levels of [2, 4]) {
  const middles = Array.from({length: levels}, (_, level) => [((level + 0.5) * 20) / levels - 0.5]);
  for (const noise of [0, 1e-9]) {
    const targets = rows.map(([x]) => Math.floor((x * levels) / 20) + noise * Math.sin(x));
    const predictions = [
      new DecisionTreeRegression(),
      new RandomForestRegression({useSampleBagging: false}), // all rows in each tree
    ].map((model) => {
      model.train(rows, targets);
      return model.predict(middles).map((value) => Math.abs(value).toFixed(2)).join(" ");
    });
    console.log(`levels ${[...Array(levels).keys()].join(" ")}${noise ? ", noise 1e-9" : ""}: ` +
      `tree ${predictions[0]}, forest ${predictions[1]}`);
  }
}
JS
