package ebssc_test

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

// Scores and gradients of hypotheses inferred in chunks equal those of all at once, to 1e-5 of the largest: with class-specific
// codes above shared ones and in all blocks, energies of the top block alone, sweeps, and dropout.
func TestHypothesesInChunks(t *testing.T) {
	ebc67 := tiny(rowNamed(t, "ssc-ebc67"), 3)
	ebc67.Classes = 3 // a chunk of two and a remainder of one
	top, sweeps := twoBlocks(0), twoBlocks(1)
	top.Classifier = ebssc.EnergyTop
	top.Layers[0].Block.Coding = ebssc.EBC
	for name, network := range map[string]ebssc.Network{"EBC67": ebc67, "all blocks, top energy": top, "sweeps": sweeps} {
		t.Run(name, func(t *testing.T) {
			input, labels := randomImages(network, 5), tensors.FromValue([][]int32{{2}, {0}})
			store := randomModel(t, network, experiments.Settings{ebssc.ParamEnergyScale: 5.0, ebssc.ParamDropout: 0.3}, 5)
			compute := func(hypotheses int) (outputs [][]float64) {
				store.SetParam(ebssc.ParamHypotheses, hypotheses)
				require.NoError(t, store.SetRNGStateFromSeed(3)) // the same dropout
				computed, err := model.CallOnceN(xla, store, func(scope *model.Scope, images, labels *Node) []*Node {
					scope.Store().SetTraining(images.Graph(), true)
					loss := lossGraph(network, scope, images, labels)
					return append(scope.BuildTrainableVariablesGradientsGraph(loss), loss)
				}, input, labels)
				require.NoError(t, err)
				for _, output := range computed {
					outputs = append(outputs, tensors.MustCopyFlatData[float64](output))
				}
				return outputs
			}
			want := compute(network.Classes)
			for i, got := range compute(2) {
				scale := 0.0
				for _, value := range want[i] {
					scale = max(scale, value, -value)
				}
				require.InDeltaSlice(t, want[i], got, 1e-5*scale, "output %d", i)
			}
		})
	}
}

// Declared rows infer all hypotheses in one chunk, also at the paper's scale. With more classes no code takes more than a GiB.
func TestHypothesesPerChunk(t *testing.T) {
	for _, row := range experiments.Studies.Experiments() {
		require.Equal(t, 10, ebssc.HypothesesPerChunk(row.Network(experiments.PaperWidth), 128), row.Name)
	}
	network := rowNamed(t, "ssc-ebc67").Network(experiments.PaperWidth)
	for classes, want := range map[int]int{20: 20, 54: 54, 55: 28, 100: 50, 1000: 53} {
		network.Classes = classes
		require.Equal(t, want, ebssc.HypothesesPerChunk(network, 128), "%d classes: of conv7 a class takes 128·10·10·384·4 bytes", classes)
	}
	network.Height, network.Width = 1024, 1024
	require.Equal(t, 1, ebssc.HypothesesPerChunk(network, 128))
}
