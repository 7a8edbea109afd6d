#!/usr/bin/env bash
# onnx-gomlx 0.5.0 × onnxruntime 1.32.0: a Slice that reverses an axis, as ONNX writes a flip, gives
# nothing at all: convertSlice hands the end before the first element, -1, to AxisRange, which
# counts it from the end. There is no error, nor where the result is joined to something else. So
# the backward half of a network that reads both ways, or the mirrored copies of pictures, are
# missing. Guess before: reversed.
set -euo pipefail
# shellcheck source=findings/lib/onnx.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/onnx.sh"

compare_onnx 'Slice, onnxruntime: [4 3 2 1] of [4]
Concat, onnxruntime: [1 2 3 4 4 3 2 1] of [8]
Slice, onnx-gomlx: [] of [0]
Concat, onnx-gomlx: [1 2 3 4] of [4]' <<'PY'
node = onnx.helper.make_node
reversal = [
    constant("starts", -1),
    constant("ends", -(2**63) + 1),
    constant("axes", 0),
    constant("steps", -1),
    node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"]),
]
model("Slice", 17, [1, 2, 3, 4], ["y"], *reversal)
model("Concat", 17, [1, 2, 3, 4], ["z"], *reversal, node("Concat", ["x", "y"], ["z"], axis=0))
PY
