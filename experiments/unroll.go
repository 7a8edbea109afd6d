package experiments

import (
	"fmt"

	"ebsscgo/ebssc"
)

// TwoBlocks is the network of the unroll study, for digits of 28×28×1 and 10 classes: two spherical blocks without pools
// (strides instead, so that the top-down pass is an exact adjoint), scored by their joint energy.
//
// The paper leaves the architecture open. Here the lower block has filters of 5×5, three pixels apart, so that its code is
// 9×9, and the filters of the upper block are as large as that code. A block's update for all hypotheses is then one
// matrix product, and all five numbers of sweeps train on all images within 20 minutes on 2 CPU cores.
type TwoBlocks struct {
	// Below is the coding of the lower block; the upper one is class-specific.
	Below ebssc.Coding
	// Sweeps is T.
	Sweeps int
}

// Network has `width` filters in the lower block and eight times as many in the upper one.
func (t TwoBlocks) Network(width int) ebssc.Network {
	return ebssc.Network{
		Height: 28, Width: 28, Channels: 1, Classes: 10, Classifier: ebssc.EnergySum, Sweeps: t.Sweeps,
		Layers: []ebssc.Layer{
			{Name: "conv1", Block: &ebssc.Block{Filters: width, Kernel: 5, Stride: 3, Padding: 1, Coding: t.Below}},
			{Name: "conv2", Block: &ebssc.Block{Filters: 8 * width, Kernel: 9, Stride: 1, Coding: ebssc.EBC}},
		},
	}
}

// Unroll is the paper's Fig. 3: inference with 0 to 4 sweeps.
var Unroll = unrolled("unroll", ebssc.SSC, map[int]Paper{
	0: {TestErr: 1.31, Where: "Sec. 3.1.1"}, 1: {TestErr: 0.74, Where: "Sec. 3.1.1"},
}, map[int]Settings{
	0: {ebssc.ParamEnergyScale: 100.0, ParamLearningRate: 0.01, ebssc.ParamAlpha: 1e-4},
	1: {ebssc.ParamEnergyScale: 3.0, ParamLearningRate: 0.01, ebssc.ParamAlpha: 1e-4},
	2: {ebssc.ParamEnergyScale: 3.0, ParamLearningRate: 0.003, ebssc.ParamAlpha: 1e-3},
	3: {ebssc.ParamEnergyScale: 30.0, ParamLearningRate: 0.003},
	4: {ebssc.ParamEnergyScale: 3.0, ParamLearningRate: 0.003, ebssc.ParamAlpha: 1e-4},
})

// UnrollBoth is another reading of "a two-block version of our energy-based model": class thresholds in both blocks.
var UnrollBoth = unrolled("unroll-both", ebssc.EBC, nil, nil)

// unrollGrid is what each number of sweeps chooses from. The factor on the energies decides the study: the paper has none, with which
// no sweeps under-fit for many epochs, and a sweep gains most where no sweeps under-fit. The learning rate does, too. So each number of
// sweeps gets its own ([Experiment.Chosen]), the point with the smallest held-out error at profile quick. Regularisation (α) is tried at the
// chosen points alone, for a third axis would triple the time.
var unrollGrid = Grid{
	{ParamLearningRate, []any{0.003, 0.01}},
	{ebssc.ParamEnergyScale, []any{3.0, 10.0, 30.0, 100.0}},
}

// unrollSettings are those of all numbers of sweeps, but for what each has chosen.
var unrollSettings = Settings{
	// Digits are not mirrored, nor moved, and not whitened: the model sees them as they are.
	ParamFlip: 0.0, ParamCrop: 0, ParamWhiten: false,
	ParamOptimizer: Adam, ParamLearningRate: 0.003, ParamWarmUp: 0.0, ebssc.ParamEnergyScale: 3.0, ebssc.ParamClassStep: 1.0,
}

// unrolled are experiments with 0 to 4 sweeps, with the paper's numbers and the settings chosen for each.
func unrolled(name string, below ebssc.Coding, paper map[int]Paper, chosen map[int]Settings) (all []Experiment) {
	for sweeps := range 5 {
		all = append(all, Experiment{
			Name: fmt.Sprintf("%s-%d", name, sweeps), Title: fmt.Sprintf("T = %d", sweeps),
			Architecture: TwoBlocks{Below: below, Sweeps: sweeps}, Paper: paper[sweeps], Traced: true,
			Settings: unrollSettings, Chosen: chosen[sweeps],
		})
	}
	return all
}
