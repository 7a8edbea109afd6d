#!/usr/bin/env bash
# github.com/aclements/go-moremath f10218a38794: the PDF of a stats.KDE with two bounds has a mass
# of 4/3. One of its two series of reflections adds their distance where it should subtract it: it
# takes the density at 3x - 2max. So there is a second peak, three times narrower, between the data
# and the upper bound, as high as the true one, where there are no data. CDF is right, so that PDF
# is not its derivative. With one bound, or none, all is right. There is no error. Guess before,
# from the documentation ("reflects the density estimate at the boundaries"): a density on [min,
# max) with the mass 1, and the same as without bounds where the data are far from them. Here: a
# value of 0.5 with the bandwidth 0.1, as for accuracies or probabilities, and bounds that it does
# not reach.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

run_go github.com/aclements/go-moremath@v0.0.0-20210112150236-f10218a38794 \
  'no bounds: PDF(0.5) 7.5, PDF(0.83) 0.0, mass 1.00 by PDF, 1.00 by CDF
[0, inf): PDF(0.5) 7.5, PDF(0.83) 0.0, mass 1.00 by PDF, 1.00 by CDF
(-inf, 1): PDF(0.5) 7.5, PDF(0.83) 0.0, mass 1.00 by PDF, 1.00 by CDF
[0, 1): PDF(0.5) 7.5, PDF(0.83) 7.5, mass 1.33 by PDF, 1.00 by CDF' <<'GO'
package main

import (
	"fmt"
	"math"

	"github.com/aclements/go-moremath/stats"
)

func main() {
	show("no bounds", 0, 0)
	show("[0, inf)", 0, math.Inf(1))
	show("(-inf, 1)", math.Inf(-1), 1)
	show("[0, 1)", 0, 1)
}

func show(title string, low, high float64) {
	kde := stats.KDE{
		Sample:      stats.Sample{Xs: []float64{0.5}},
		Kernel:      stats.EpanechnikovKernel,
		Bandwidth:   0.1,
		BoundaryMin: low,
		BoundaryMax: high,
	}
	var mass float64
	const steps = 10_000
	for i := range steps {
		mass += kde.PDF((float64(i)+0.5)/steps) / steps
	}
	fmt.Printf("%s: PDF(0.5) %.1f, PDF(0.83) %.1f, mass %.2f by PDF, %.2f by CDF\n", title,
		kde.PDF(0.5), kde.PDF(5.0/6), mass, kde.CDF(1)-kde.CDF(0))
}
GO
