package decode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/device"
	"ebsscgo/internal/device/devicetest"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/tensor"
)

var xla compute.Backend

func TestMain(m *testing.M) {
	devicetest.CompileFast()
	var err error
	if xla, _, err = device.Open(context.Background(), "cpu"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// network is one of two blocks for images of 6×5, with a pool.
func network(coding ebssc.Coding) ebssc.Network {
	return ebssc.Network{Height: 6, Width: 5, Channels: 1, Classes: 3, Classifier: ebssc.EnergySum,
		Layers: []ebssc.Layer{
			{Name: "conv1", Block: &ebssc.Block{Filters: 4, Kernel: 3, Stride: 1, Padding: 1,
				Coding: coding}},
			{Name: "pool1", Pool: &ebssc.Pool{Window: 2, Stride: 2}},
			{Name: "conv2", Block: &ebssc.Block{Filters: 5, Kernel: 2, Stride: 1, Coding: ebssc.EBC}},
		}}
}

// newModel is a network with initial variables and thresholds that differ between classes.
func newModel(t *testing.T, n ebssc.Network) *decode.Model {
	h := experiments.Recipe.Hyper
	h.Beta, h.ClassSpread = 0.02, 1
	store := model.NewStore()
	_, err := model.CallOnce(xla, store, func(scope *model.Scope, images *Node) *Node {
		return n.Forward(scope, h, images).Scores
	}, digits(n, 1))
	require.NoError(t, err)
	m := &decode.Model{Backend: xla, Network: n, Hyper: h, Store: store, Batch: 25,
		Ink: n.Channels == 1}
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

// whitener is a symmetric matrix for images of a network, with eigenvalues from 1 to 3.
func whitener(n ebssc.Network) *tensors.Tensor {
	size := n.Height * n.Width * n.Channels
	values := make([]float32, size*size)
	for i := range size {
		values[i*size+i] = 2
		values[i*size+size-1-i] = 1 // the mirrored pixel
	}
	return tensors.FromFlatDataAndDimensions(values, size, size)
}

// cosine of the angle between two images.
func cosine(a, b []float64) float64 {
	return floats.Dot(a, b) / floats.Norm(a, 2) / floats.Norm(b, 2)
}

// squaresApart are the squared distances of pictures from their mean, of each picture and pixel.
func squaresApart(pictures [][]float64) (squares [][]float64) {
	mean := make([]float64, len(pictures[0]))
	for _, picture := range pictures {
		floats.AddScaled(mean, 1/float64(len(pictures)), picture)
	}
	for _, picture := range pictures {
		apart := floats.SubTo(make([]float64, len(mean)), picture, mean)
		squares = append(squares, floats.MulTo(apart, apart, apart))
	}
	return squares
}

// Measure agrees with loops over the pixels of the decoded images.
func TestMeasureMeasuresDecodings(t *testing.T) {
	const count = 30 // more than one batch
	n := network(ebssc.EBC)
	m, images := newModel(t, n), digits(n, count)
	m.Unwhiten = whitener(n)
	levels, err := m.Decode(t.Context(), images)
	require.NoError(t, err)
	measured, err := m.Measure(t.Context(), images)
	require.NoError(t, err)
	require.Len(t, measured, 2)
	size, x := n.Height*n.Width, tensor.Values(images)
	// unwhitened adds to twice an image its mirror image, as whitener does.
	unwhitened := func(image []float64) (seen []float64) {
		for p := range image {
			seen = append(seen, 2*image[p]+image[size-1-p])
		}
		return seen
	}
	for l, level := range levels {
		require.Equal(t, []string{"conv1", "conv2"}[l], level.Block)
		require.Equal(t, []int{count, n.Classes, size}, []int{len(level.Biases), len(level.Biases[0]),
			len(level.Biases[0][0])})
		var cosines, rectifiedCosines, imageCosines, differences, inkShares, inkAreas, spreads float64
		for i := range count {
			image, decoded := x[i*size:][:size], level.Linear[i]
			cosines += cosine(image, decoded) / count
			rectifiedCosines += cosine(image, level.Rectified[i]) / count
			imageCosines += cosine(unwhitened(image), unwhitened(decoded)) / count
			apart, all, inked := 0.0, 0.0, 0.0
			for class, squares := range squaresApart(level.Features[i]) {
				apart += floats.Sum(squares)
				all += floats.Dot(level.Features[i][class], level.Features[i][class])
				for p, square := range squares {
					if image[p] > 0 {
						inked += square
						inkAreas += 1 / float64(n.Classes*size*count)
					}
				}
			}
			inkShares += inked / apart / count
			differences += apart / all / count
			for _, squares := range squaresApart(level.Biases[i]) {
				spread := math.Pow(floats.Sum(squares), 2) / (float64(size) * floats.Dot(squares, squares))
				spreads += spread / float64(n.Classes*count)
			}
		}
		got := measured[l]
		require.Greater(t, *got.Difference, 1e-6)
		require.Greater(t, *got.BiasSpread, 1/float64(size))
		for name, pair := range map[string][2]float64{"linear": {cosines, got.Linear.Cosine},
			"rectified":  {rectifiedCosines, got.Rectified.Cosine},
			"unwhitened": {imageCosines, *got.Linear.ImageCosine},
			"difference": {differences, *got.Difference},
			"ink share":  {inkShares, *got.InkShare}, "ink area": {inkAreas, *got.InkArea},
			"spread": {spreads, *got.BiasSpread}} {
			require.InEpsilon(t, pair[0], pair[1], 1e-3, "%s of %s", name, level.Block)
		}
	}
	require.Equal(t, measured[0].Linear, measured[0].Rectified, "nothing is rectified at the image")
	require.NotEqual(t, measured[1].Linear, measured[1].Rectified)
}

// The control has another image's code: where no max pool keeps maxima, its cosine is that of the
// image and another reconstruction. In batches of three, this also holds where two images are left
// for the last one, or a single one.
func TestControlIsAnotherImage(t *testing.T) {
	n := network(ebssc.CReLUSN)
	n.Layers[1].Pool.Average = true
	m := newModel(t, n)
	m.Batch = 3
	for _, others := range [][]int{{1, 2, 0, 4, 0}, {1, 2, 0, 0}} {
		images, count := digits(n, len(others)), float64(len(others))
		levels, err := m.Decode(t.Context(), images)
		require.NoError(t, err)
		measured, err := m.Measure(t.Context(), images)
		require.NoError(t, err)
		size, x := n.Height*n.Width, tensor.Values(images)
		for l, level := range levels {
			var want, wantRectified float64
			for i, other := range others {
				want += cosine(x[i*size:][:size], level.Linear[other]) / count
				wantRectified += cosine(x[i*size:][:size], level.Rectified[other]) / count
			}
			require.InDelta(t, want, measured[l].Linear.Control, 1e-5)
			require.InDelta(t, wantRectified, measured[l].Rectified.Control, 1e-5)
			require.Greater(t, measured[l].Linear.Cosine, measured[l].Linear.Control+0.1)
		}
	}
}

// Without another image there is no control. To decode one image needs none. A measurement ends
// with its context.
func TestMeasureNeedsTwoImages(t *testing.T) {
	n := network(ebssc.EBC)
	m := newModel(t, n)
	_, err := m.Measure(t.Context(), digits(n, 1))
	require.ErrorContains(t, err, "two images in a batch")
	levels, err := m.Decode(t.Context(), digits(n, 1))
	require.NoError(t, err)
	require.Len(t, levels[0].Linear, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Measure(ctx, digits(n, 2))
	require.ErrorIs(t, err, context.Canceled)
	m.Batch = 1
	_, err = m.Measure(t.Context(), digits(n, 2))
	require.ErrorContains(t, err, "two images in a batch")
}

// An orthonormal dictionary as large as its input reconstructs it exactly, also after rounding, and
// the code of a block without class thresholds below it does not depend on the hypothesis. Records
// hold measures as JSON, which has no NaN: those that do not exist are missing.
func TestMeasureOfAFaithfulBlock(t *testing.T) {
	n := network(ebssc.CReLUSN)
	n.Channels = 3 // no ink
	n.Layers = append([]ebssc.Layer{{Name: "conv0", Block: &ebssc.Block{Filters: 3, Kernel: 1,
		Stride: 1, Coding: ebssc.CReLUSN}}}, n.Layers...)
	measured, err := newModel(t, n).Measure(t.Context(), digits(n, 3))
	require.NoError(t, err)
	require.InDelta(t, 1, measured[0].Linear.Cosine, 1e-6)
	require.LessOrEqual(t, measured[0].Linear.Cosine, 1.0)
	require.Nil(t, measured[0].Difference)
	require.Nil(t, measured[0].BiasSpread)
	require.Nil(t, measured[0].Linear.ImageCosine)
	require.NotNil(t, measured[2].Difference)
	require.NotNil(t, measured[2].BiasSpread)
	require.Nil(t, measured[2].InkShare)
	text, err := json.Marshal(measured)
	require.NoError(t, err)
	var read []record.BlockMeasures
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, measured, read)
}

// The same program decodes with other variables: a dictionary of zeros reconstructs nothing.
func TestSetVariables(t *testing.T) {
	n := network(ebssc.EBC)
	m, images := newModel(t, n), digits(n, 2)
	before, err := m.Measure(t.Context(), images)
	require.NoError(t, err)
	other := newModel(t, n).Store
	v := other.GetVariable("/conv1/dictionary")
	require.NoError(t, v.SetValue(tensors.FromShape(v.Shape())))
	require.NoError(t, m.SetVariables(n.Variables(other)))
	after, err := m.Measure(t.Context(), images)
	require.NoError(t, err)
	require.Greater(t, before[0].Linear.Cosine, 0.5)
	require.Equal(t, record.Similarity{}, after[0].Linear)
	require.Zero(t, *after[0].Difference)
}

// drawn are the texts of a figure, and how many of its pixels have each colour.
func drawn(t *testing.T, figure plot.Figure) (svg string, pixels map[color.RGBA]int) {
	vectors, err := figure.SVG()
	require.NoError(t, err)
	content, err := figure.PNG()
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(content))
	require.NoError(t, err)
	pixels = map[color.RGBA]int{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			pixels[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
		}
	}
	return string(vectors), pixels
}

// Figures of levels show the image as it is, and also as the network sees it where that differs.
// Levels without class biases have no more pictures, and those of hypotheses are differences from
// their mean: grey where hypotheses do not differ.
func TestFiguresOfLevels(t *testing.T) {
	n := network(ebssc.SSC)
	n.Channels = 3
	red := tensors.FromFlatDataAndDimensions(slices.Repeat([]float32{1, 0, 0}, n.Height*n.Width), 1,
		n.Height, n.Width, 3)
	seen := digits(n, 1)
	levels, err := newModel(t, n).Decode(t.Context(), seen)
	require.NoError(t, err)
	require.Nil(t, levels[0].Biases)
	require.Len(t, levels[0].Features[0], 1)
	classes, grey := []string{"a", "b", "c"}, color.RGBA{128, 128, 128, 255}
	all := decode.Reconstructions("title", classes, red, seen, levels)
	require.Greater(t, all.Height, decode.Reconstructions("title", classes, red, seen,
		levels[:1]).Height)
	hypotheses := decode.Hypotheses("title", classes, red, seen, levels)
	for _, figure := range []plot.Figure{all, hypotheses} {
		svg, pixels := drawn(t, figure)
		require.Contains(t, svg, ">original<")
		require.Contains(t, svg, ">network input<")
		require.GreaterOrEqual(t, pixels[color.RGBA{255, 0, 0, 255}], 9*n.Height*n.Width/2)
	}
	svg, before := drawn(t, decode.Hypotheses("title", classes, seen, seen, levels))
	require.NotContains(t, svg, "network input")
	levels[1].Features[0] = slices.Repeat(levels[1].Features[0][:1], 2)
	_, after := drawn(t, decode.Hypotheses("title", classes, seen, seen, levels))
	require.Greater(t, after[grey], before[grey]+9*n.Height*n.Width)
}

// Residuals have a legend for the frames, and filters are drawn before and after training.
func TestResidualsAndFilters(t *testing.T) {
	n := network(ebssc.SSC)
	m, images := newModel(t, n), digits(n, 2)
	levels, err := m.Decode(t.Context(), images)
	require.NoError(t, err)
	svg, pixels := drawn(t, decode.Residuals("title", []string{"a", "b", "c"}, images, []uint16{0, 2},
		levels[1]))
	require.Contains(t, svg, ">the image&#39;s own class<")
	require.Contains(t, svg, ">−", "the lower end of the scale")
	require.NotZero(t, pixels[color.RGBAModel.Convert(plot.Hue(1)).(color.RGBA)])
	dictionary := n.Variables(m.Store)["conv1/dictionary"]
	svg, _ = drawn(t, decode.Dictionaries("title", dictionary, dictionary))
	require.Contains(t, svg, ">after<")
}

// Filters are the columns of a dictionary.
func TestFilters(t *testing.T) {
	tiles := decode.Filters(tensors.FromFlatDataAndDimensions([]float64{-1, 2, 1, 4}, 1, 2, 1, 2))
	require.Len(t, tiles, 2)
	left, _, _, _ := tiles[0].Picture.At(0, 0).RGBA()
	right, _, _, _ := tiles[0].Picture.At(1, 0).RGBA()
	require.Zero(t, left, "−1 is black")
	require.EqualValues(t, 0xffff, right, "1 is white")
}
