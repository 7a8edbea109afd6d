package decode_test

import (
	"context"
	"encoding/json"
	"fmt"
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

// made is a network with initial variables and thresholds that differ between classes.
func made(t *testing.T, n ebssc.Network) decode.Model {
	store := model.NewStore()
	store.SetParams(map[string]any{ebssc.ParamBeta: 0.02, ebssc.ParamClassSpread: 1.0})
	require.NoError(t, store.SetRNGStateFromSeed(1))
	_, err := model.CallOnce(xla, store, func(scope *model.Scope, images *Node) *Node {
		return n.Forward(scope, images).Scores
	}, digits(n, 1))
	require.NoError(t, err)
	return decode.Model{Backend: xla, Network: n, Store: store}
}

// digits are images of which a third is ink.
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

// What is measured is what the decoded images say: here by loops over their pixels.
func TestMeasureMeasuresDecodings(t *testing.T) {
	const count = 30 // more than are decoded at once
	n := network(ebssc.EBC)
	m, images := made(t, n), digits(n, count)
	levels, err := m.Decode(images)
	require.NoError(t, err)
	measured, err := m.Measure(context.Background(), images)
	require.NoError(t, err)
	require.Len(t, measured, 2)
	size, x := n.Height*n.Width, plot.Values(images)
	for l, level := range levels {
		require.Equal(t, []string{"conv1", "conv2"}[l], level.Block)
		require.Equal(t, []int{count, n.Classes, n.Height, n.Width, 1}, level.Biases.Shape().Dimensions)
		reconstructions, features := plot.Values(level.Reconstructions), plot.Values(level.Features)
		want := decode.Fidelity{Block: level.Block}
		for i := range count {
			image, decoded := x[i*size:][:size], reconstructions[i*size:][:size]
			cosine := floats.Dot(image, decoded) / floats.Norm(image, 2) / floats.Norm(decoded, 2)
			want.Cosine += cosine / count
			// The best multiple of the decoded image, by projection.
			scaled := floats.ScaleTo(make([]float64, size), floats.Dot(image, decoded)/floats.Dot(decoded, decoded), decoded)
			want.Error += floats.Distance(image, scaled, 2) / floats.Norm(image, 2) / count
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
			want.InkShare += inked / pairs / count
			want.InkArea += ink / float64(size) / count
			// The squared distances from the mean are those of the pairs over the number of classes.
			all := features[i*n.Classes*size:][:n.Classes*size]
			want.Difference += pairs / float64(n.Classes) / floats.Dot(all, all) / count
		}
		got := measured[l]
		require.Positive(t, got.CosineStd)
		require.Greater(t, got.Difference, 1e-6)
		for _, pair := range [][2]float64{{want.Cosine, got.Cosine}, {want.Error, got.Error}, {want.Difference, got.Difference},
			{want.InkShare, got.InkShare}, {want.InkArea, got.InkArea}} {
			require.InEpsilon(t, pair[0], pair[1], 1e-3, "%+v %+v", want, got)
		}
	}
}

// An orthonormal dictionary as large as its input loses nothing, and a block without class thresholds tells no classes apart.
func TestMeasureOfAFaithfulBlock(t *testing.T) {
	n := network(ebssc.CReLUSN)
	n.Layers = append([]ebssc.Layer{{Name: "conv0", Block: &ebssc.Block{Filters: 1, Kernel: 1, Stride: 1, Coding: ebssc.CReLUSN}}}, n.Layers...)
	measured, err := made(t, n).Measure(context.Background(), digits(n, 3))
	require.NoError(t, err)
	require.InDelta(t, 1, measured[0].Cosine, 1e-6)
	require.InDelta(t, 0, measured[0].Error, 1e-3)
	require.True(t, math.IsNaN(measured[0].Difference))
	require.False(t, math.IsNaN(measured[2].Difference))
}

// What is not known of a block survives being written and read, although JSON has no NaN.
func TestFidelityJSON(t *testing.T) {
	written := decode.Fidelity{Block: "conv1", Cosine: 0.5, Error: 0.25, Difference: math.NaN(), DifferenceStd: math.NaN(), InkArea: 0}
	text, err := json.Marshal([]decode.Fidelity{written})
	require.NoError(t, err)
	var read []decode.Fidelity
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, fmt.Sprint(written), fmt.Sprint(read[0]))
	require.Contains(t, string(text), `"Cosine":0.5,`)
}

func TestMeasureStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n := network(ebssc.EBC)
	_, err := made(t, n).Measure(ctx, digits(n, 1))
	require.ErrorIs(t, err, context.Canceled)
}

// All pictures can be drawn, of levels with class biases and without, and grow with what they show.
func TestFigures(t *testing.T) {
	n := network(ebssc.SSC)
	m, images := made(t, n), digits(n, 2)
	levels, err := m.Decode(images)
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
