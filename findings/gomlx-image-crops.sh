#!/usr/bin/env bash
# GoMLX 0.28.3: images.ToTensor reads the pixels from (0, 0) on, wherever the picture's bounds
# begin. Go's SubImage keeps the coordinates of the whole picture and gives 0 outside, so that a
# crop becomes black where it leaves the upper left corner: without an error, and a crop by
# SubImage is the usual one. Guess before: the crop. Here: the rows of crops of 4 × 4 white pixels.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/gomlx/gomlx@v0.28.3 'from (0, 0): [[1 1] [1 1]]
from (1, 1): [[0 0] [0 1]]
from (2, 2): [[0 0] [0 0]]' <<'GO'
package main

import (
	"fmt"
	"image"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors/images"
)

func main() {
	white := image.NewGray(image.Rect(0, 0, 4, 4))
	for i := range white.Pix {
		white.Pix[i] = 255
	}
	for from := range 3 {
		crop := white.SubImage(image.Rect(from, from, from+2, from+2))
		pixels := images.ToTensor(dtypes.Float32).Single(crop).Value().([][][]float32)
		fmt.Printf("from (%d, %d): [[%v %v] [%v %v]]\n", from, from,
			pixels[0][0][0], pixels[0][1][0], pixels[1][0][0], pixels[1][1][0])
	}
}
GO
