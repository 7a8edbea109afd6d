#!/usr/bin/env bash
# GoMLX 0.28.3: images.ToImage takes the lowest 8 bits of what does not fit: 1.01 becomes 2 of 255,
# nearly black, so that pictures made by a network have dark spots where they should be brightest.
# And with WithAlpha colours go in multiplied by their opacity but are taken as not multiplied on
# the way back: a picture with transparency comes back darker. Both without an error. Guess before:
# the largest value, and the same picture.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/gomlx/gomlx@v0.28.3 '0.50: 128
1.00: 255
1.01: 2
a colour of 200, opacity 255: back 200
a colour of 200, opacity 128: back 100
a colour of 200, opacity 64: back 50' <<'GO'
package main

import (
	"fmt"
	"image"
	"image/color"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/images"
)

func main() {
	for _, value := range []float32{0.5, 1, 1.01} {
		pixel := tensors.FromValue([][][]float32{{{value, value, value}}})
		fmt.Printf("%.2f: %d\n", value, images.ToImage().Single(pixel).(*image.NRGBA).Pix[0])
	}
	for _, opacity := range []uint8{255, 128, 64} {
		picture := image.NewNRGBA(image.Rect(0, 0, 1, 1))
		picture.Set(0, 0, color.NRGBA{200, 200, 200, opacity})
		pixel := images.ToTensor(dtypes.Float32).WithAlpha().Single(picture)
		fmt.Printf("a colour of 200, opacity %d: back %d\n", opacity,
			images.ToImage().Single(pixel).(*image.NRGBA).Pix[0])
	}
}
GO
