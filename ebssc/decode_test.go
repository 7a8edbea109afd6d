package ebssc_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
)

// One linear block of 1×1 filters: the code is u = Dᵀx + b in two halves, and its decoding D(Dᵀx + b) at each position.
func TestDecodeLinearBlock(t *testing.T) {
	n := twoBlocks(0)
	n.Height, n.Width, n.Channels = 3, 2, 4
	n.Layers = []ebssc.Layer{{Name: "conv1", Block: &ebssc.Block{Filters: 3, Kernel: 1, Stride: 1, Coding: ebssc.CReLU}}}
	n.Classifier = ebssc.Linear
	store, images := randomModel(t, n, nil, 8), randomImages(n, 8)
	decoded := outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
		return n.Decode(scope, images).Codes
	})[0]
	x := tensors.MustCopyFlatData[float64](images)
	d := tensors.MustCopyFlatData[float64](store.GetVariable("/conv1/dictionary").MustValue())
	b := tensors.MustCopyFlatData[float64](store.GetVariable("/conv1/offset").MustValue())
	for position := 0; position < len(x); position += 4 {
		for channel := range 4 {
			want := 0.0
			for filter := range 3 {
				u := b[filter]
				for c := range 4 {
					u += d[c*3+filter] * x[position+c]
				}
				want += d[channel*3+filter] * u
			}
			require.InDelta(t, want, decoded[position+channel], 1e-12)
		}
	}
}

// Decoding is the adjoint of the way up, pools included: where nothing is negative, rectification does nothing, and
// without offsets ⟨code, code⟩ = ⟨image, decoded code⟩.
func TestDecodeIsTheAdjointOfTheWayUp(t *testing.T) {
	for i, n := range someStacks(6) {
		if i%2 == 0 {
			pool := ebssc.Layer{Name: "pool", Pool: &ebssc.Pool{Window: 3, Stride: 2, Padding: 1, Average: i%4 == 0}}
			n.Layers = append([]ebssc.Layer{n.Layers[0], pool}, n.Layers[1:]...)
		}
		for l := range n.Layers {
			if n.Layers[l].Block != nil {
				block := *n.Layers[l].Block
				block.Coding = ebssc.ReLU
				n.Layers[l].Block = &block
			}
		}
		n.Classifier = ebssc.Linear
		store, images := randomModel(t, n, nil, uint64(i)), magnitudes(randomImages(n, uint64(i)))
		for v := range store.IterVariables() {
			switch v.Name() {
			case "offset":
				require.NoError(t, v.SetValue(tensors.FromShape(v.Shape())))
			case "dictionary":
				require.NoError(t, v.SetValue(magnitudes(v.MustValue())))
			}
		}
		both := outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
			inner := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 1, 2, 3) }
			decoding := n.Decode(scope, images)
			top := n.Forward(scope.Store().RootScope().ResetVisited(), images).Codes[len(n.Layers)-1]
			return []*Node{inner(top, top), inner(images, decoding.Codes[len(decoding.Codes)-1])}
		})
		for image := range both[0] {
			require.Greater(t, both[0][image], 0.0)
			require.InDelta(t, 1, both[1][image]/both[0][image], 1e-10, "%+v", n)
		}
	}
}

// magnitudes are the absolute values.
func magnitudes(x *tensors.Tensor) *tensors.Tensor {
	values := tensors.MustCopyFlatData[float64](x)
	for i := range values {
		values[i] = math.Abs(values[i])
	}
	return tensors.FromFlatDataAndDimensions(values, x.Shape().Dimensions...)
}

// Without thresholds all hypotheses have one code, and what is decoded for them differs only where thresholds do.
func TestDecodeHypotheses(t *testing.T) {
	n := twoBlocks(0)
	n.Layers[0].Block.Coding = ebssc.EBC
	store, images := randomModel(t, n, nil, 9), randomImages(n, 9)
	bare := n.WithoutThresholds()
	decoded := outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
		with := n.Decode(scope, images)
		without := bare.Decode(scope.Store().RootScope().ResetVisited(), images)
		return []*Node{with.Codes[1], with.Features[1], with.Biases[1], without.Codes[1], without.Features[1]}
	})
	size := n.Height * n.Width * n.Channels
	require.Len(t, decoded[0], 2*n.Classes*size)
	require.Len(t, decoded[3], 2*size)
	require.Equal(t, decoded[3], decoded[4], "without thresholds a code is its features")
	for _, which := range []int{0, 1, 2} {
		first, second := decoded[which][:size], decoded[which][size:2*size]
		require.Greater(t, distance(first, second), 1e-3*math.Sqrt(float64(size)))
	}
	require.Greater(t, distance(decoded[0], decoded[1]), 1e-3)
}
