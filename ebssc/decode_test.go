package ebssc_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
)

// reconstruction is an ebssc.Reconstruction outside of the graph.
type reconstruction struct{ linear, rectified, linearControl, rectifiedControl []float64 }

// reconstructions are a network's, of each block.
func reconstructions(t *testing.T, store *model.Store, n ebssc.Network,
	images *tensors.Tensor) (all []reconstruction) {
	flat := outputs(t, store, images, func(scope *model.Scope, images *Node) (nodes []*Node) {
		for _, r := range n.Reconstruct(scope, hyper(), images) {
			nodes = append(nodes, r.Linear, r.Rectified, r.LinearControl, r.RectifiedControl)
		}
		return nodes
	})
	for of := range slices.Chunk(flat, 4) {
		all = append(all, reconstruction{of[0], of[1], of[2], of[3]})
	}
	return all
}

// withPool is a network of two blocks with a pool between them, and with a linear classifier unless
// the upper one is class-specific.
func withPool(average bool, lower, upper ebssc.Coding) ebssc.Network {
	classifier := ebssc.EnergySum
	if upper.Thresholds != ebssc.ClassSpecific {
		classifier = ebssc.Linear
	}
	return ebssc.Network{
		Height: 8, Width: 7, Channels: 2, Classes: 3, Classifier: classifier,
		Layers: []ebssc.Layer{
			{Name: "conv1", Block: &ebssc.Block{Filters: 3, Kernel: 3, Stride: 1, Padding: 1,
				Coding: lower}},
			{Name: "pool1", Pool: &ebssc.Pool{Window: 3, Stride: 2, Padding: 1, Average: average}},
			{Name: "conv2", Block: &ebssc.Block{Filters: 4, Kernel: 3, Stride: 1, Padding: 1,
				Coding: upper}},
		},
	}
}

// Both decoders and their controls, step by step, as gradients of the steps up: of z₂ to z₁ through
// the pool at the image's own maxima, and of z₁, rectified or not, to the image. The codes have no
// thresholds, whatever the network's are.
func TestReconstructStepByStep(t *testing.T) {
	for _, coding := range []ebssc.Coding{ebssc.ReLU, ebssc.EBC} {
		n := withPool(false, coding, coding)
		store, images := randomModel(t, n, 4), randomImages(n, 4)
		zero := ebssc.CReLUSN // EBC without thresholds
		if coding.Rectified {
			zero = coding
		}
		want := outputs(t, store, images, func(scope *model.Scope, images *Node) (all []*Node) {
			codes := withPool(false, zero, zero).Forward(scope, hyper(), images).Codes
			signed := func(z *Node) *Node {
				if coding.Rectified {
					return z
				}
				return ebssc.Signed(z)
			}
			// down is the gradient of ⟨u, z⁺ − z⁻⟩ with respect to x, for the drive u of a block.
			down := func(layer int, drive func(x *Node) *Node, z, x *Node) *Node {
				block, path := n.Layers[layer].Block, "/"+n.Layers[layer].Name
				x = Identity(StopGradient(x))
				dictionary := store.GetVariable(path + "/dictionary").NodeValue(images.Graph())
				u := block.Drive(drive(x), dictionary,
					store.GetVariable(path+"/offset").NodeValue(images.Graph()))
				return Gradient(ReduceAllSum(Mul(u, signed(StopGradient(z)))), x)[0]
			}
			itself := func(x *Node) *Node { return x }
			pool := func(x *Node) *Node {
				return MaxPool(x).Window(3).Strides(2).PaddingPerDim([][2]int{{1, 1}, {1, 1}}).Done()
			}
			for _, swap := range []bool{false, true} {
				z1, z2 := codes[0], codes[1]
				if swap { // two images: each is the other's next
					z1, z2 = Reverse(z1, 0), Reverse(z2, 0)
				}
				toZ1 := down(2, pool, z2, codes[0])
				all = append(all, down(0, itself, z1, images), down(0, itself, toZ1, images),
					down(0, itself, MaxScalar(toZ1, 0), images))
			}
			return all
		})
		got := reconstructions(t, store, n, images)
		require.InDeltaSlice(t, want[0], got[0].linear, 1e-12)
		require.Equal(t, got[0].linear, got[0].rectified)
		require.InDeltaSlice(t, want[1], got[1].linear, 1e-12)
		require.InDeltaSlice(t, want[2], got[1].rectified, 1e-12)
		require.InDeltaSlice(t, want[3], got[0].linearControl, 1e-12)
		require.Equal(t, got[0].linearControl, got[0].rectifiedControl)
		require.InDeltaSlice(t, want[4], got[1].linearControl, 1e-12)
		require.InDeltaSlice(t, want[5], got[1].rectifiedControl, 1e-12)
		require.Greater(t, floats.Distance(want[1], want[2], 2), 1e-3)
	}
}

// The control of an image is the reconstruction of the next one, but for the maxima in max pools.
// Of two equal images it is the reconstruction.
func TestControlsKeepTheMaxima(t *testing.T) {
	for _, average := range []bool{true, false} {
		n := withPool(average, ebssc.SSC, ebssc.EBC)
		store, images := randomModel(t, n, 5), randomImages(n, 5)
		size := n.Height * n.Width * n.Channels
		swapped := func(values []float64) []float64 {
			return slices.Concat(values[size:2*size], values[:size])
		}
		for block, r := range reconstructions(t, store, n, images) {
			for _, pair := range [][2][]float64{{r.linear, r.linearControl},
				{r.rectified, r.rectifiedControl}} {
				require.Greater(t, floats.Distance(pair[0], pair[1], 2), 0.01)
				if average || block == 0 {
					require.InDeltaSlice(t, swapped(pair[0]), pair[1], 1e-12)
				} else {
					require.Greater(t, floats.Distance(swapped(pair[0]), pair[1], 2), 0.01)
				}
			}
		}
		count := map[bool]int{true: 1, false: 3}[average]
		pixels := slices.Repeat(tensors.MustCopyFlatData[float64](images)[:size], count)
		for _, r := range reconstructions(t, store, n, tensors.FromFlatDataAndDimensions(pixels, count,
			n.Height, n.Width, n.Channels)) {
			require.Len(t, r.linear, count*size)
			require.InDeltaSlice(t, r.linear, r.linearControl, 1e-12)
			require.InDeltaSlice(t, r.rectified, r.rectifiedControl, 1e-12)
		}
	}
}

// Without thresholds all hypotheses have one code, which Reconstruct decodes, and what is decoded
// for them differs only where thresholds do.
func TestDecodeHypotheses(t *testing.T) {
	n := twoBlocks(0)
	n.Layers[0].Block.Coding = ebssc.EBC
	store, images := randomModel(t, n, 9), randomImages(n, 9)
	bare := n.WithoutThresholds()
	decoded := outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
		with := n.Decode(scope, hyper(), images)
		without := bare.Decode(scope.Store().RootScope().ResetVisited(), hyper(), images)
		return []*Node{with.Codes[1], with.Features[1], with.Biases[1], without.Codes[1],
			without.Features[1]}
	})
	size := n.Height * n.Width * n.Channels
	require.Len(t, decoded[0], 2*n.Classes*size)
	require.Len(t, decoded[3], 2*size)
	require.Equal(t, decoded[3], decoded[4], "without thresholds a code is its features")
	require.InDeltaSlice(t, decoded[3], reconstructions(t, store, n, images)[1].linear, 1e-12)
	for _, pictures := range decoded[:3] {
		first, second := pictures[:size], pictures[size:2*size]
		require.Greater(t, floats.Distance(first, second, 2), 1e-3*math.Sqrt(float64(size)))
	}
	require.Greater(t, floats.Distance(decoded[0], decoded[1], 2), 1e-3)
	// Thresholds that switch nothing off are not in the features.
	store = withVariables(newStore(), n, images.DType(), hyper(func(h *ebssc.Hyper) { h.Beta = 1e-6 }))
	of := outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
		features, _ := ebssc.Normalize(n.Decode(scope, hyper(), images).Features[0], 2)
		codes, _ := ebssc.Normalize(bare.Decode(scope.Store().RootScope().ResetVisited(), hyper(),
			images).Codes[0], 1)
		return []*Node{features, BroadcastToDims(InsertAxes(codes, 1), features.Shape().Dimensions...)}
	})
	require.InDeltaSlice(t, of[1], of[0], 1e-12)
}
