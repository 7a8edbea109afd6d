package experiments

import (
	"fmt"

	"ebsscgo/ebssc"
)

// TwoBlocks is the network of the unroll studies, for digits of 28×28×1 and 10 classes: two spherical blocks without pools
// (strides instead, so that the top-down pass is an exact adjoint), scored by their joint energy.
//
// The paper leaves the architecture open. Here the lower block has filters of 5×5, three pixels apart, so that its code is
// 9×9, and the filters of the upper block are as large as that code. A block's update for all hypotheses is then one
// matrix product.
type TwoBlocks struct {
	// Below is the coding of the lower block; the upper one is class-specific. The paper's "2-block version of our energy-based model" can be read
	// as class thresholds in the top block alone, with SSC below, or in both, with EBC.
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

// digits are the hyperparameters of networks for digits, which are not mirrored, nor moved, and not whitened: the model sees them as they are.
func digits(h *Hyper) { h.Flip, h.Crop, h.Preprocessing = 0, 0, Raw }

// oneSetting is that of all numbers of sweeps: the softmax of the energies themselves (factor 1), as the paper has it, and no regularisation, which the paper
// says of CIFAR-10 alone.
func oneSetting(h *Hyper) {
	digits(h)
	h.Optimizer, h.LearningRate, h.WarmUp, h.ClassStep, h.EnergyScale, h.Alpha = Adam, 0.1, 0, 1, 1, 0
}

// chosen are hyperparameters that were chosen for each number of sweeps on held-out images, before Version 4: the best point of one grid (learning
// rate, factor on the energies), then the best of three α.
var chosen = []func(*Hyper){
	func(h *Hyper) { h.LearningRate, h.EnergyScale, h.Alpha = 0.01, 100, 1e-4 },
	func(h *Hyper) { h.LearningRate, h.EnergyScale, h.Alpha = 0.01, 3, 1e-4 },
	func(h *Hyper) { h.LearningRate, h.EnergyScale, h.Alpha = 0.003, 3, 1e-3 },
	func(h *Hyper) { h.LearningRate, h.EnergyScale = 0.003, 30 },
	func(h *Hyper) { h.LearningRate, h.EnergyScale, h.Alpha = 0.003, 3, 1e-4 },
}

// unrolled are experiments with 0 to `most` sweeps, each beside the one with a sweep less. own, if not nil, has what each number of sweeps changes in the
// setting of all.
func unrolled(name string, most int, below ebssc.Coding, own []func(*Hyper)) (all []Experiment) {
	paper := map[int]Paper{0: {TestErr: 1.31}, 1: {TestErr: 0.74}} // Sec. 3.1.1
	for sweeps := range most + 1 {
		e := Experiment{
			Name: fmt.Sprintf("%s-%d", name, sweeps), Title: fmt.Sprintf("T = %d", sweeps),
			Architecture: TwoBlocks{Below: below, Sweeps: sweeps}, Change: oneSetting, Paper: paper[sweeps],
		}
		if own != nil {
			e.Change = func(h *Hyper) { *h = h.Changed(oneSetting, own[sweeps]) }
		}
		if sweeps > 0 {
			e.Base = all[sweeps-1].Name
		}
		all = append(all, e)
	}
	return all
}
