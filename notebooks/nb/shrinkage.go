package nb

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	gonumplot "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"ebsscgo/ebssc"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/tensor"
)

// Shrinkage draws the paper's Fig. 2: asymmetric shrinkage, Eq. (asym_shrink), for four settings of
// its thresholds β⁺ and β⁻. In the last, −β⁻ > β⁺: where both cases of the equation hold it has two
// values, so it is not a proper function.
func Shrinkage(backend compute.Backend) (plot.Figure, error) {
	var panels []*gonumplot.Plot
	for _, c := range []struct {
		title       string
		plus, minus float64
	}{
		{"(a) 0 between −0.5 and 1", 1, 0.5}, {"(b) 0 between 0.5 and 1.5", 1.5, -0.5},
		{"(c) 0 between −1.5 and −0.5", -0.5, 1.5}, {"(d) improper", -0.8, -0.8},
	} {
		outputs, err := CallOnceN(backend, func(v, plus, minus *Node) (below, above *Node) {
			infinite := Infinity(v.Graph(), v.DType(), 1) // switches one ReLU off
			return ebssc.Shrink(v, infinite, minus), ebssc.Shrink(v, plus, infinite)
		}, []float64{-3, -c.minus, c.plus, 3}, c.plus, c.minus)
		if err != nil {
			return plot.Figure{}, fmt.Errorf("computing the shrinkage: %w", err)
		}
		below, above := tensor.Values(outputs[0]), tensor.Values(outputs[1])
		curve := plotter.XYs{{X: -3, Y: below[0]}, {X: -c.minus, Y: below[1]},
			{X: c.plus, Y: above[2]}, {X: 3, Y: above[3]}}
		branches := []plotter.XYs{curve}
		if -c.minus > c.plus {
			branches = []plotter.XYs{curve[:2], curve[2:]}
		}
		p := plot.Plot(c.title, "v", "")
		for _, branch := range branches {
			plot.AddLine(p, branch, plot.Hue(0), 2.5)
		}
		panels = append(panels, p)
	}
	return plot.Panels(900, 230, [][]*gonumplot.Plot{panels}), nil
}
