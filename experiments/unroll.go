package experiments

import (
	"fmt"

	"ebsscgo/ebssc"
)

// TwoBlocks is the network of the unroll study, for digits of 28×28×1 and 10 classes: two spherical blocks without pools
// (strides instead, so that the top-down pass is an exact adjoint), scored by their joint energy. The paper leaves its
// architecture open.
type TwoBlocks struct {
	// Below is the coding of the lower block; the upper one is class-specific.
	Below ebssc.Coding
	// Sweeps is T.
	Sweeps int
}

// Network has `width` filters in the lower block.
func (t TwoBlocks) Network(width int) ebssc.Network {
	return ebssc.Network{
		Height: 28, Width: 28, Channels: 1, Classes: 10, Classifier: ebssc.EnergySum, Sweeps: t.Sweeps,
		Layers: []ebssc.Layer{
			{Name: "conv1", Block: &ebssc.Block{Filters: width, Kernel: 5, Stride: 2, Padding: 1, Coding: t.Below}},
			{Name: "conv2", Block: &ebssc.Block{Filters: 2 * width, Kernel: 5, Stride: 2, Padding: 1, Coding: ebssc.EBC}},
		},
	}
}

// Unroll is the paper's Fig. 3: inference with 0 to 4 sweeps.
var Unroll = unrolled("unroll", ebssc.SSC, map[int]Paper{
	0: {TestErr: 1.31, Where: "Sec. 3.1.1"}, 1: {TestErr: 0.74, Where: "Sec. 3.1.1"},
})

// UnrollBoth is another reading of "a two-block version of our energy-based model": class thresholds in both blocks.
var UnrollBoth = unrolled("unroll-both", ebssc.EBC, nil)

// unrolled are experiments with 0 to 4 sweeps.
func unrolled(name string, below ebssc.Coding, paper map[int]Paper) (all []Experiment) {
	for sweeps := range 5 {
		all = append(all, Experiment{
			Name: fmt.Sprintf("%s-%d", name, sweeps), Title: fmt.Sprintf("T = %d", sweeps),
			Architecture: TwoBlocks{Below: below, Sweeps: sweeps}, Paper: paper[sweeps], Traced: true,
			// Digits are not mirrored, nor moved, and not whitened: the model sees them as they are.
			Settings: Settings{ParamFlip: 0.0, ParamCrop: 0, ParamWhiten: false},
		})
	}
	return all
}
