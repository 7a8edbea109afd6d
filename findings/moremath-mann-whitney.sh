#!/usr/bin/env bash
# github.com/aclements/go-moremath f10218a38794: with ties and samples of different sizes, the
# two-sided p value of MannWhitneyUTest depends on which of them comes first, and can be 0 or above
# 1. For the upper tail it looks up the other sample's U, the smaller one, in the lower tail of the
# distribution for this order. Ties make that distribution lopsided, so that the tails differ. Four
# runs that all beat five others have p = 0, while the one-sided p is 1/126; the other way round p
# is 2/126. There is no error. Without ties, or with samples of one size, both orders agree, and so
# they do above 25 values, where p is an approximation. Guess before, from the documentation ("the
# exact U distribution"): twice the share of the arrangements of the values in the smaller tail, at
# most 1, in both orders. This is counted here.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/aclements/go-moremath@v0.0.0-20210112150236-f10218a38794 \
  '[93 93 93 93], [91 91 92 92 92]: p 0.000, swapped 0.016, one-sided 0.008, counted 0.016
[0 1 1 1], [0 0 0 0 0 1]: p 0.143, swapped 0.238, one-sided 0.119, counted 0.238
[2], [1 1 1 2]: p 1.200, swapped 0.800, one-sided 0.400, counted 0.800
[3 4 5], [1 2 2.5 3.5]: p 0.114, swapped 0.114, one-sided 0.057, counted 0.114' <<'GO'
package main

import (
	"cmp"
	"fmt"
	"math/bits"

	"github.com/aclements/go-moremath/stats"
)

func main() {
	for _, samples := range [][2][]float64{
		{{93, 93, 93, 93}, {91, 91, 92, 92, 92}},
		{{0, 1, 1, 1}, {0, 0, 0, 0, 0, 1}},
		{{2}, {1, 1, 1, 2}},
		{{3, 4, 5}, {1, 2, 2.5, 3.5}},
	} {
		x, y := samples[0], samples[1]
		fmt.Printf("%v, %v: p %.3f, swapped %.3f, one-sided %.3f, counted %.3f\n", x, y,
			p(x, y, stats.LocationDiffers), p(y, x, stats.LocationDiffers),
			p(x, y, stats.LocationGreater), min(1, 2*upper(x, y)))
	}
}

func p(x, y []float64, alternative stats.LocationHypothesis) float64 {
	result, err := stats.MannWhitneyUTest(x, y, alternative)
	if err != nil {
		panic(err)
	}
	return result.P
}

// upper is the share of the arrangements in which x comes out at least as far above y. This tail is
// the smaller one in all cases here.
func upper(x, y []float64) float64 {
	values := append(append([]float64{}, x...), y...)
	u := func(chosen uint) (twice int) { // pairs won twice, tied once
		for i, a := range values {
			for j, b := range values {
				if chosen>>i&1 == 1 && chosen>>j&1 == 0 {
					twice += 1 + cmp.Compare(a, b)
				}
			}
		}
		return twice
	}
	var count, extreme float64
	for chosen := range uint(1) << len(values) {
		if bits.OnesCount(chosen) == len(x) {
			count++
			if u(chosen) >= u(1<<len(x)-1) {
				extreme++
			}
		}
	}
	return extreme / count
}
GO
