#!/usr/bin/env bash
# ml-fnn 5.0.0: the option activation has no effect: whichever of the documented functions is named,
# the network has tanh, without an error. The constructor looks the name up in Object.keys(…), an
# array, with the operator in, which asks for indices ("0", "1", …) there, so that no name is found,
# and falls back. So a comparison of activations compares a network with itself, and a linear
# baseline ("identity") isn't linear. Guess before, from the documentation: the function that is
# named; with "identity" the scores are affine, so that at most three of the four rows of XOR can be
# right. Here: XOR, and all networks start from the same random numbers.
# Needs Node 20 or later with npm.
set -euo pipefail
# shellcheck source=findings/lib/npm.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/npm.sh"

run_node 'tanh: 4 of 4 right
identity: 4 of 4 right, the weights of tanh
logistic: 4 of 4 right, the weights of tanh
arctan: 4 of 4 right, the weights of tanh
softsign: 4 of 4 right, the weights of tanh
relu: 4 of 4 right, the weights of tanh
softplus: 4 of 4 right, the weights of tanh
sinusoid: 4 of 4 right, the weights of tanh
gaussian: 4 of 4 right, the weights of tanh' ml-fnn@5.0.0 ml-matrix@6.15.1 <<'JS'
const Network = require("ml-fnn");

const rows = [[0, 0], [0, 1], [1, 0], [1, 1]];
const labels = [0, 1, 1, 0];
const activations = ["tanh", "identity", "logistic", "arctan", "softsign", "relu", "softplus",
  "sinusoid", "gaussian"];
let first;
for (const activation of activations) {
  let state = 1; // of a Lehmer generator, so that all networks start equal
  Math.random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const network = new Network({activation, hiddenLayers: [4], iterations: 5000, learningRate: 0.05,
    regularization: 1e-9});
  network.train(rows, labels);
  const right = network.predict(rows).filter((label, i) => label === labels[i]).length;
  const weights = JSON.stringify(network.toJSON().layers.map(({W, b}) => [W, b]));
  first ??= weights;
  const same = activation !== "tanh" && weights === first ? ", the weights of tanh" : "";
  console.log(`${activation}: ${right} of 4 right${same}`);
}
JS
