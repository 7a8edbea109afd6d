package ebssc_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"ebsscgo/ebssc"
)

// someStacks are networks drawn by randomStack; few, as each takes a second to compile.
func someStacks(count int) (all []ebssc.Network) {
	for seed := range count {
		all = append(all, rapid.Custom(randomStack).Example(seed))
	}
	return all
}

// randomStack is a network of two or three spherical blocks without pools for images of 9×8×2, the
// top one class-specific, with random kernels, strides and paddings.
func randomStack(t *rapid.T) ebssc.Network {
	n := ebssc.Network{Height: 9, Width: 8, Channels: 2, Classes: 3, Classifier: ebssc.EnergySum}
	codings := []ebssc.Coding{ebssc.CReLUSN, ebssc.SSC, ebssc.EBC}
	classSpecific := false
	blocks := rapid.IntRange(2, 3).Draw(t, "blocks")
	for i := range blocks {
		coding := rapid.SampledFrom(codings).Draw(t, "coding")
		if classSpecific = classSpecific || coding == ebssc.EBC || i == blocks-1; classSpecific {
			coding = ebssc.EBC
		}
		n.Layers = append(n.Layers, ebssc.Layer{Name: fmt.Sprintf("conv%d", i+1), Block: &ebssc.Block{
			Filters: rapid.IntRange(1, 4).Draw(t, "filters"), Kernel: rapid.IntRange(1, 3).Draw(t, "kernel"),
			Stride: rapid.IntRange(1, 2).Draw(t, "stride"), Padding: rapid.IntRange(1, 2).Draw(t, "padding"),
			Coding: coding,
		}})
	}
	return n
}

// twoBlocks is a small network like that of the unroll study, with strides.
func twoBlocks(sweeps int) ebssc.Network {
	return ebssc.Network{
		Height: 12, Width: 12, Channels: 1, Classes: 3, Classifier: ebssc.EnergySum, Sweeps: sweeps,
		Layers: []ebssc.Layer{
			{Name: "conv1", Block: &ebssc.Block{Filters: 3, Kernel: 5, Stride: 2, Padding: 1,
				Coding: ebssc.SSC}},
			{Name: "conv2", Block: &ebssc.Block{Filters: 6, Kernel: 5, Stride: 2, Padding: 1,
				Coding: ebssc.EBC}},
		},
	}
}

// randomModel fills a network's variables with numbers from a seed: dictionaries and offsets of
// either sign, thresholds of the size of the drives.
func randomModel(t require.TestingT, n ebssc.Network, seed uint64) *model.Store {
	store := withVariables(newStore(), n, dtypes.Float64, hyper())
	rng := rand.New(rand.NewPCG(seed, 2))
	for v := range store.IterVariables() {
		if !v.Trainable {
			continue
		}
		values := normals(rng, v.Shape().Size())
		for i := range values {
			switch v.Name() {
			case "offset":
				values[i] *= 0.05
			case "thresholds":
				values[i] = 0.1 * math.Abs(values[i])
			}
		}
		require.NoError(t, v.SetValue(tensors.FromFlatDataAndDimensions(values, v.Shape().Dimensions...)))
	}
	return store
}

// randomImages are two images for a network, float64.
func randomImages(n ebssc.Network, seed uint64) *tensors.Tensor {
	values := normals(rand.New(rand.NewPCG(seed, 3)), 2*n.Height*n.Width*n.Channels)
	return tensors.FromFlatDataAndDimensions(values, 2, n.Height, n.Width, n.Channels)
}

// outputs computes float64 nodes of a model.
func outputs(t require.TestingT, store *model.Store, images *tensors.Tensor,
	graph func(scope *model.Scope, images *Node) []*Node) (all [][]float64) {
	tensors_, err := model.CallOnceN(xla, store, graph, images)
	require.NoError(t, err)
	for _, output := range tensors_ {
		all = append(all, tensors.MustCopyFlatData[float64](output))
	}
	return all
}

// withDropout gives every third stack dropout: its hyperparameters, and what makes a graph one of
// training.
func withDropout(i int) (h ebssc.Hyper, prepare func(scope *model.Scope, g *Graph)) {
	if i%3 > 0 {
		return hyper(), func(*model.Scope, *Graph) {}
	}
	return hyper(func(h *ebssc.Hyper) { h.Dropout = 0.3 }),
		func(scope *model.Scope, g *Graph) { scope.Store().SetTraining(g, true) }
}

// Block-coordinate ascent: for every model, image and hypothesis the joint energy never falls from
// one block's update to the next, and it does rise. Dropout's masks stay as they are from one sweep
// to the next.
func TestJointEnergyNeverFalls(t *testing.T) {
	rose := 0.0
	for i, n := range someStacks(6) {
		seed := uint64(i)
		h, prepare := withDropout(i)
		ascent := outputs(t, randomModel(t, n, seed), randomImages(n, seed),
			func(scope *model.Scope, images *Node) []*Node {
				prepare(scope, images.Graph())
				return ebssc.Ascent(n, scope, h, images, 2)
			})
		for step := 1; step < len(ascent); step++ {
			for i, energy := range ascent[step] {
				require.GreaterOrEqual(t, energy, ascent[step-1][i]-1e-12*math.Abs(energy),
					"%+v: update %d, image and hypothesis %d", n, step, i)
				rose = math.Max(rose, energy-ascent[step-1][i])
			}
		}
	}
	require.Greater(t, rose, 0.01)
}

// What Forward reports as energies is the joint energy, each coupling counted once.
func TestEnergiesAreTheJointEnergy(t *testing.T) {
	n := twoBlocks(0)
	store, images, h := randomModel(t, n, 5), randomImages(n, 5), hyper()
	ascent := outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
		return ebssc.Ascent(n, scope, h, images, 2)
	})
	for sweeps := range 3 {
		n.Sweeps = sweeps
		energies := outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
			pass := n.Forward(scope, h, images)
			return []*Node{Add(Reshape(pass.Energies[0], 2, -1), pass.Energies[1]),
				DivScalar(pass.Scores, h.EnergyScale)}
		})
		require.InDeltaSlice(t, ascent[2*sweeps], energies[0], 1e-12, "%d sweeps", sweeps)
		// else the lower block's energy is the same for all hypotheses and stays out of the scores
		if sweeps > 0 {
			require.InDeltaSlice(t, centred(energies[0], n.Classes), energies[1], 1e-12)
		}
	}
}

// Sweeps converge to a fixed point.
func TestFixedPoint(t *testing.T) {
	n := twoBlocks(0)
	store, images := randomModel(t, n, 6), randomImages(n, 6)
	// With a weak coupling the codes converge fast.
	dictionary := store.GetVariable("/conv2/dictionary")
	values := tensors.MustCopyFlatData[float64](dictionary.MustValue())
	floats.Scale(0.05, values)
	changed := tensors.FromFlatDataAndDimensions(values, dictionary.Shape().Dimensions...)
	require.NoError(t, dictionary.SetValue(changed))
	codes := func(sweeps int) []float64 {
		n.Sweeps = sweeps
		all := outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
			return n.Forward(scope, hyper(), images).Codes
		})
		return append(all[0], all[1]...)
	}
	require.Greater(t, floats.Distance(codes(1), codes(2), 2), 1e-6)
	require.Less(t, floats.Distance(codes(20), codes(21), 2), 1e-9)
}

// The top-down term is the gradient of the energy above with respect to the code below: for every
// kernel, stride and padding, through max and average pools, with and without hypotheses, and under
// dropout.
func TestTopDownIsTheAdjoint(t *testing.T) {
	for i, n := range someStacks(6) {
		n.Layers = n.Layers[:2]
		n.Layers[1].Block.Coding = ebssc.EBC
		if i%3 > 0 {
			pool := ebssc.Layer{Name: "pool", Pool: &ebssc.Pool{Window: 3, Stride: 2, Padding: 1,
				Average: i%3 == 2}}
			n.Layers = []ebssc.Layer{n.Layers[0], pool, n.Layers[1]}
		}
		seed := uint64(i)
		h, prepare := withDropout(i / 3) // with each kind of pool
		both := outputs(t, randomModel(t, n, seed), randomImages(n, seed),
			func(scope *model.Scope, images *Node) []*Node {
				prepare(scope, images.Graph())
				r, gradient := ebssc.TopDown(n, scope, h, images)
				if r.Rank() > gradient.Rank() { // one code below for all hypotheses
					r = ReduceSum(r, 1)
				}
				return []*Node{r, gradient}
			})
		require.InDeltaSlice(t, both[1], both[0], 1e-12, "%+v", n)
	}
}

// Gradients through the unrolled graph, top-down passes included, against finite differences.
func TestUnrolledGradients(t *testing.T) {
	labels := tensors.FromValue([][]int32{{2}, {0}})
	for _, below := range []ebssc.Coding{ebssc.SSC, ebssc.EBC} {
		n := twoBlocks(2)
		n.Layers[0].Block.Coding = below
		h := hyper(func(h *ebssc.Hyper) { h.EnergyScale = 5 })
		checkGradients(t, xla, randomModel(t, n, 7), n, h, randomImages(n, 7), labels)
	}
}
