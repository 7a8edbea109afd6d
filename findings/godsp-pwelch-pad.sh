#!/usr/bin/env bash
# github.com/mjibson/go-dsp 11479a337f12: spectral.Pwelch with Pad lays the window over the padded
# segment, while it divides by the power of a window over the samples alone. So the samples see but
# the rising part of the window and end abruptly: the level drops, and a sine leaks. White noise of
# variance 1 has a power of 0.15 with Pad at 4 times NFFT, and of 0.012 at 8 times. In the
# documentation Pad adds points to the plot. Guess before, from that: a power of 1 with every Pad.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/mjibson/go-dsp@v0.0.0-20180508042940-11479a337f12 \
  'pad 256: power of the noise 1, of the sine far from its frequency -97 dB
pad 512: power of the noise 1, of the sine far from its frequency -38 dB
pad 1024: power of the noise 0.15, of the sine far from its frequency -44 dB
pad 2048: power of the noise 0.012, of the sine far from its frequency -55 dB' <<'GO'
package main

import (
	"fmt"
	"math"
	"math/rand"

	"github.com/mjibson/go-dsp/spectral"
)

func main() {
	source := rand.New(rand.NewSource(1))
	noise, sine := make([]float64, 1<<16), make([]float64, 1<<12)
	for i := range noise {
		noise[i] = source.NormFloat64()
	}
	for i := range sine {
		sine[i] = math.Sin(2 * math.Pi * 10 * float64(i) / 100)
	}
	for _, pad := range []int{256, 512, 1024, 2048} {
		options := &spectral.PwelchOptions{NFFT: 256, Noverlap: 128, Pad: pad}
		density, frequencies := spectral.Pwelch(noise, 100, options)
		power := 0.
		for _, value := range density {
			power += value * frequencies[1]
		}
		density, _ = spectral.Pwelch(sine, 100, options)
		far := 10 * math.Log10(density[int(20/frequencies[1])])
		fmt.Printf("pad %d: power of the noise %.2g, of the sine far from its frequency %.0f dB\n",
			pad, math.Round(power*1000)/1000, far)
	}
}
GO
