package experiments

import (
	"cmp"
	"fmt"

	"ebsscgo/ebssc"
)

// SevenBlocks is the paper's network for CIFAR-10, its Table 1.
type SevenBlocks struct {
	// Body is the coding of the blocks below the class-specific ones.
	Body ebssc.Coding
	// EBCFrom is the number of the first class-specific block: 6 for EBC₆₋₇; 0 for a linear
	// classifier on block 7 (LC₇).
	EBCFrom int
	// AveragePool pools averages in place of maxima.
	AveragePool bool
	// TopEnergy scores classes by the energy of block 7 alone, in place of the sum over the
	// class-specific blocks.
	TopEnergy bool
	// Sweeps is T.
	Sweeps int
	// Images that it reads, of the same kind as its study's; CIFAR-10 where empty.
	Images DataKind
}

// reads returns the kind of images that an experiment's architecture names; nothing if it names
// none, as all but [SevenBlocks] do.
func (e Experiment) reads() DataKind {
	if blocks, ok := e.Architecture.(SevenBlocks); ok {
		return cmp.Or(blocks.Images, CIFAR10)
	}
	return ""
}

// Fits reports whether an experiment may stand in a study on that kind of images.
func (e Experiment) Fits(kind DataKind) bool {
	if reads := e.reads(); reads != "" {
		return reads == kind
	}
	return kind.Images().Channels == e.Network(1).Channels
}

// Table is the paper's Table 2: its five rows on CIFAR-10, each beside the one above it. Paper has
// the errors in training and test, and the parameters.
var Table = []Experiment{
	{Name: "relu-lc7", Title: "ReLU+LC₇",
		Architecture: SevenBlocks{Body: ebssc.ReLU}, Paper: Paper{1.20, 11.40, "1.3M"}},
	{Name: "crelu-lc7", Title: "CReLU+LC₇", Base: "relu-lc7", Adds: "both signs",
		Architecture: SevenBlocks{Body: ebssc.CReLU}, Paper: Paper{2.09, 10.17, "2.6M"}},
	{Name: "crelu-sn-lc7", Title: "CReLU(SN)+LC₇", Base: "crelu-lc7", Adds: "unit norm",
		Architecture: SevenBlocks{Body: ebssc.CReLUSN}, Paper: Paper{0.99, 9.74, "2.6M"}},
	{Name: "ssc-lc7", Title: "SSC+LC₇", Base: "crelu-sn-lc7", Adds: "learned threshold",
		Architecture: SevenBlocks{Body: ebssc.SSC}, Paper: Paper{0.99, 9.77, "2.6M"}},
	{Name: "ssc-ebc67", Title: "SSC+EBC₆₋₇", Base: "ssc-lc7", Adds: "energy-based classifier",
		Architecture: SevenBlocks{Body: ebssc.SSC, EBCFrom: 6}, Paper: Paper{0.21, 9.23, "3.2M"},
		Decoded: true},
}

// Decoding is the network behind the paper's Fig. 4: class thresholds in all seven blocks (10.1M
// parameters at the paper's width), so that there is a class bias to decode at every level. The
// paper's source has it, with average pools, among the rows commented out of its Table 2.
//
// All codes depend on the hypothesis, so everything above the first block is computed ten times: a
// training step takes about eight times as long as that of SSC+EBC₆₋₇.
var Decoding = []Experiment{{
	Name: "ssc-ebc17", Title: "SSC+EBC₁₋₇",
	Architecture: SevenBlocks{Body: ebssc.SSC, EBCFrom: 1}, Decoded: true,
}}

// Residuals is the network behind the paper's Fig. 5: the same for MNIST.
var Residuals = []Experiment{{
	Name: "ssc-ebc17-mnist", Title: "SSC+EBC₁₋₇", Change: mnistHyper, Decoded: true,
	Architecture: SevenBlocks{Body: ebssc.SSC, EBCFrom: 1, Images: MNIST},
}}

// Network returns the network with width filters in the first two blocks and twice as many in the
// others, for images of the declared size and classes. If EBCFrom is no block, no block is
// class-specific, and Validate of the network says so.
func (s SevenBlocks) Network(width int) ebssc.Network {
	images := cmp.Or(s.Images, CIFAR10).Images()
	n := ebssc.Network{Height: images.Height, Width: images.Width, Channels: images.Channels,
		Classes: len(images.Classes), Classifier: ebssc.Linear, Sweeps: s.Sweeps}
	switch {
	case s.EBCFrom != 0 && s.TopEnergy:
		n.Classifier = ebssc.EnergyTop
	case s.EBCFrom != 0:
		n.Classifier = ebssc.EnergySum
	}
	conv := func(number, filters, kernel int) ebssc.Layer {
		coding := s.Body
		if s.EBCFrom > 0 && number >= s.EBCFrom {
			coding = ebssc.EBC
		}
		return ebssc.Layer{Name: blockName(number), Block: &ebssc.Block{
			Filters: filters, Kernel: kernel, Stride: 1, Padding: 1, Coding: coding,
		}}
	}
	pool := func(number int) ebssc.Layer {
		return ebssc.Layer{Name: fmt.Sprintf("pool%d", number), Pool: &ebssc.Pool{
			Window: 3, Stride: 2, Padding: 1, Average: s.AveragePool,
		}}
	}
	// Block 7 has a 1×1 kernel and padding 1: its code is 10×10 for CIFAR-10.
	n.Layers = []ebssc.Layer{
		conv(1, width, 3), conv(2, width, 3), pool(1),
		conv(3, 2*width, 3), conv(4, 2*width, 3), conv(5, 2*width, 3), pool(2),
		conv(6, 2*width, 3), conv(7, 2*width, 1),
	}
	return n
}

// blockName returns the paper's name of a block, which it counts from 1.
func blockName(number int) string { return fmt.Sprintf("conv%d", number) }
