package decode_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/device"
	"ebsscgo/internal/plot"
)

var xla compute.Backend

func TestMain(m *testing.M) {
	var err error
	if xla, _, err = device.Open(context.Background(), "cpu", 1); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// network is one of two blocks for images of 6×5, with a pool.
func network(coding ebssc.Coding) ebssc.Network {
	return ebssc.Network{Height: 6, Width: 5, Channels: 1, Classes: 3, Classifier: ebssc.EnergySum, Layers: []ebssc.Layer{
		{Name: "conv1", Block: &ebssc.Block{Filters: 4, Kernel: 3, Stride: 1, Padding: 1, Coding: coding}},
		{Name: "pool1", Pool: &ebssc.Pool{Window: 2, Stride: 2}},
		{Name: "conv2", Block: &ebssc.Block{Filters: 5, Kernel: 2, Stride: 1, Coding: ebssc.EBC}},
	}}
}

// newModel is a network with initial variables and thresholds that differ between classes.
func newModel(t *testing.T, n ebssc.Network) *decode.Model {
	store := model.NewStore()
	store.SetParams(map[string]any{ebssc.ParamBeta: 0.02, ebssc.ParamClassSpread: 1.0})
	require.NoError(t, store.SetRNGStateFromSeed(1))
	_, err := model.CallOnce(xla, store, func(scope *model.Scope, images *Node) *Node {
		return n.Forward(scope, images).Scores
	}, digits(n, 1))
	require.NoError(t, err)
	m := &decode.Model{Backend: xla, Network: n, Store: store, Batch: 25, Ink: n.Channels == 1}
	t.Cleanup(m.Close)
	return m
}

// digits are images with ink on a third of their pixels.
func digits(n ebssc.Network, count int) *tensors.Tensor {
	rng := rand.New(rand.NewPCG(7, 7))
	values := make([]float32, count*n.Height*n.Width*n.Channels)
	for i := range values {
		if rng.IntN(3) == 0 {
			values[i] = rng.Float32() + 0.1
		}
	}
	return tensors.FromFlatDataAndDimensions(values, count, n.Height, n.Width, n.Channels)
}

// Measure agrees with loops over the pixels of the decoded images.
func TestMeasureMeasuresDecodings(t *testing.T) {
	const count = 30 // more than one batch
	n := network(ebssc.EBC)
	m, images := newModel(t, n), digits(n, count)
	levels, err := m.Decode(t.Context(), images)
	require.NoError(t, err)
	measured, err := m.Measure(t.Context(), images)
	require.NoError(t, err)
	require.Len(t, measured, 2)
	size, x := n.Height*n.Width, plot.Values(images)
	for l, level := range levels {
		require.Equal(t, []string{"conv1", "conv2"}[l], level.Block)
		require.Equal(t, []int{count, n.Classes, n.Height, n.Width, 1}, level.Biases.Shape().Dimensions)
		reconstructions, features := plot.Values(level.Reconstructions), plot.Values(level.Features)
		var cosines, errors, differences, inkShares, inkAreas float64
		for i := range count {
			image, decoded := x[i*size:][:size], reconstructions[i*size:][:size]
			cosine := floats.Dot(image, decoded) / floats.Norm(image, 2) / floats.Norm(decoded, 2)
			cosines += cosine / count
			// The best multiple of the decoded image, by projection.
			scaled := floats.ScaleTo(make([]float64, size), floats.Dot(image, decoded)/floats.Dot(decoded, decoded), decoded)
			errors += floats.Distance(image, scaled, 2) / floats.Norm(image, 2) / count
			pairs, inked, ink := 0.0, 0.0, 0.0
			for p := range size {
				if image[p] > 0 {
					ink++
				}
				for a := range n.Classes {
					for b := range a {
						square := math.Pow(features[(i*n.Classes+a)*size+p]-features[(i*n.Classes+b)*size+p], 2)
						pairs += square
						if image[p] > 0 {
							inked += square
						}
					}
				}
			}
			inkShares += inked / pairs / count
			inkAreas += ink / float64(size) / count
			// The squared distances from the mean are those of the pairs over the number of classes.
			all := features[i*n.Classes*size:][:n.Classes*size]
			differences += pairs / float64(n.Classes) / floats.Dot(all, all) / count
		}
		got := measured[l]
		require.Positive(t, got.CosineStd)
		require.Positive(t, *got.DifferenceStd)
		require.Greater(t, *got.Difference, 1e-6)
		for name, pair := range map[string][2]float64{"cosine": {cosines, got.Cosine}, "error": {errors, got.Error},
			"difference": {differences, *got.Difference}, "ink share": {inkShares, *got.InkShare}, "ink area": {inkAreas, *got.InkArea}} {
			require.InEpsilon(t, pair[0], pair[1], 1e-3, "%s of %s", name, level.Block)
		}
	}
}

// An orthonormal dictionary as large as its input reconstructs it exactly, and the code of a block without class thresholds
// below it does not depend on the hypothesis.
func TestMeasureOfAFaithfulBlock(t *testing.T) {
	n := network(ebssc.CReLUSN)
	n.Layers = append([]ebssc.Layer{{Name: "conv0", Block: &ebssc.Block{Filters: 1, Kernel: 1, Stride: 1, Coding: ebssc.CReLUSN}}}, n.Layers...)
	measured, err := newModel(t, n).Measure(context.Background(), digits(n, 3))
	require.NoError(t, err)
	require.InDelta(t, 1, measured[0].Cosine, 1e-6)
	require.InDelta(t, 0, measured[0].Error, 1e-3)
	require.Nil(t, measured[0].Difference)
	require.NotNil(t, measured[2].Difference)
}

// Records hold measures as JSON, which has no NaN: measures that do not exist are null, and one image deviates by 0.
func TestFidelityIsJSON(t *testing.T) {
	n := network(ebssc.SSC)
	n.Channels = 3
	measured, err := newModel(t, n).Measure(context.Background(), digits(n, 1))
	require.NoError(t, err)
	require.Nil(t, measured[0].Difference)
	require.Zero(t, *measured[1].DifferenceStd)
	require.Nil(t, measured[1].InkShare)
	text, err := json.Marshal(measured)
	require.NoError(t, err)
	var read []decode.Fidelity
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, measured, read)
}

func TestMeasureStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n := network(ebssc.EBC)
	_, err := newModel(t, n).Measure(ctx, digits(n, 1))
	require.ErrorIs(t, err, context.Canceled)
}

// Figures of levels with and without class biases can be drawn, and grow with the number of levels.
func TestFigures(t *testing.T) {
	n := network(ebssc.SSC)
	m, images := newModel(t, n), digits(n, 2)
	levels, err := m.Decode(t.Context(), images)
	require.NoError(t, err)
	require.Nil(t, levels[0].Biases)
	classes := []string{"a", "b", "c"}
	all := decode.Reconstructions("title", classes, images, levels)
	fewer := decode.Reconstructions("title", classes, images, levels[:1])
	require.Greater(t, all.Height, fewer.Height)
	dictionary := n.Variables(m.Store)["conv1/dictionary"]
	for _, figure := range []plot.Figure{
		all, fewer, decode.Residuals("title", classes, images, []uint8{0, 2}, levels[1]), decode.Dictionaries("title", dictionary, dictionary),
	} {
		picture, err := figure.PNG()
		require.NoError(t, err)
		require.Greater(t, len(picture), 1000)
	}
}

func TestShrinkage(t *testing.T) {
	figure, err := decode.Shrinkage(xla)
	require.NoError(t, err)
	svg, err := figure.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), "improper")
}
