#!/usr/bin/env bash
# onnx-gomlx 0.5.0 × onnxruntime 1.32.0: operators of older ONNX versions are run by the rules of
# newer ones, without an error: attributes that became inputs (Clip's bounds before version 11,
# Split's sizes before 13) are ignored, and Softmax, which took all axes from its own on together
# before version 13, takes one. So ReLU6 of an older MobileNet does nothing, and a network may give
# other classes. The model says its version, but ops.go never asks for it. Guess before, of Softmax:
# as in onnxruntime, or an error.
set -euo pipefail
# shellcheck source=findings/lib/onnx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/onnx.sh"

compare_onnx 'Clip 6, onnxruntime: [0 3 6] of [3]
Split 11, onnxruntime: [1] of [1]
Split 11, onnxruntime: [2 3 4] of [3]
Softmax 11, onnxruntime: [0.25 0.25 0.25 0.25] of [1 2 2]
Clip 6, onnx-gomlx: [-3 3 9] of [3]
Split 11, onnx-gomlx: [1 2] of [2]
Split 11, onnx-gomlx: [3 4] of [2]
Softmax 11, onnx-gomlx: [0.5 0.5 0.5 0.5] of [1 2 2]' <<'PY'
node = onnx.helper.make_node
model("Clip 6", 10, [-3, 3, 9], ["y"], node("Clip", ["x"], ["y"], min=0.0, max=6.0))
model("Split 11", 12, [1, 2, 3, 4], ["y", "z"], node("Split", ["x"], ["y", "z"], split=[1, 3]))
model("Softmax 11", 12, [[[0, 0], [0, 0]]], ["y"], node("Softmax", ["x"], ["y"], axis=1))
PY
