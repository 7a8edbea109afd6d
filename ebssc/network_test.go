package ebssc_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/device"
)

// The parameter counts that the paper rounds to 1.3M, 2.6M and 3.2M.
func TestParameterCounts(t *testing.T) {
	offsets := 2*96 + 5*192
	cases := map[string]ebssc.Count{
		"relu-lc7":     {Dictionary: 1_283_616, Classifier: 1_920, Offsets: offsets},
		"crelu-lc7":    {Dictionary: 2_564_640, Classifier: 3_840, Offsets: offsets},
		"crelu-sn-lc7": {Dictionary: 2_564_640, Classifier: 3_840, Offsets: offsets},
		"ssc-lc7":      {Dictionary: 2_564_640, Classifier: 3_840, Offsets: offsets + 7},
		"ssc-ebc67":    {Dictionary: 2_564_640, Classifier: 245_760 + 384_000, Offsets: offsets + 5},
	}
	for name, want := range cases {
		count, err := rowNamed(t, name).Network(experiments.PaperWidth).Count()
		require.NoError(t, err)
		require.Equal(t, want, count, name)
	}
}

// Products by hand: the blocks' codes have 32², 32², 16² (three times), 8² and, with block 7's
// border, 10² positions, and block 7 of EBC₆₋₇ is computed ten times.
func TestProducts(t *testing.T) {
	const (
		conv1, conv2        = 32 * 32 * 27 * 96, 32 * 32 * 9 * 192 * 96
		conv3, conv4, conv5 = 16 * 16 * 9 * 192 * 192, 16 * 16 * 9 * 384 * 192, 16 * 16 * 9 * 384 * 192
		conv6, conv7        = 8 * 8 * 9 * 384 * 192, 10 * 10 * 384 * 192
		lower               = conv2 + conv3 + conv4 + conv5 + conv6
	)
	products := func(row string) float64 {
		return rowNamed(t, row).Network(experiments.PaperWidth).Products()
	}
	require.EqualValues(t, conv1+lower+conv7, products("crelu-lc7")) // 0.66 G
	require.EqualValues(t, conv1+lower+conv7, products("ssc-lc7"))
	require.EqualValues(t, conv1+lower+10*conv7, products("ssc-ebc67"))
	require.EqualValues(t, conv1+(lower+conv7)/2, products("relu-lc7"),
		"ReLU hands half the channels up")
	const below, top = 9 * 9 * 25 * 96, 9 * 9 * 192 * 768
	require.EqualValues(t, below+top, products("unroll-0"))
	require.EqualValues(t, below+top+2*2*10*top, products("unroll-2"),
		"two sweeps up and down for ten hypotheses")
	require.PanicsWithError(t, `layer "": names must differ and not be empty`,
		func() { ebssc.Network{Layers: []ebssc.Layer{{}}}.Products() })
}

// The log-loss of scores in the ratio of 3 to 1, and of certain ones.
func TestLogLoss(t *testing.T) {
	scores := ebssc.Scores{{0, float32(math.Log(3))}, {-200, 300}}
	require.InDelta(t, math.Log(4)/2, scores.LogLoss([]uint16{0, 1}), 1e-6)
	require.Equal(t, []uint16{1, 1}, scores.Predictions())
}

// softmaxLoss is the mean log-loss of class scores.
func softmaxLoss(scores, labels *Node) *Node {
	return ReduceAllMean(loss.SparseCategoricalCrossEntropyLogits([]*Node{labels}, []*Node{scores}))
}

// Gradients of the loss against finite differences, in float64, with the fast operations but
// Winograd's, which are for float32, and of the row that has all of them with the plain ones.
// SSC+LC₇ is the unrolled row without its sweep.
func TestGradientsAgainstFiniteDifferences(t *testing.T) {
	for i, name := range []string{"ssc-lc7-unrolled", "relu-lc7", "crelu-lc7", "crelu-sn-lc7",
		"ssc-ebc67", "ssc-ebc67"} {
		network, on := tiny(rowNamed(t, name), 2), xla
		if i == 5 {
			on = hidden{xla}
		}
		h := hyper(func(h *ebssc.Hyper) { h.EnergyScale, h.Beta = 5, 0.01 })
		store := withVariables(newStore(), network, dtypes.Float64, h)
		// Where conv7's drive is its offset alone, an offset of 0 would lie on the kink of the
		// rectification.
		for v := range store.IterVariables() {
			if v.Name() == "offset" {
				offsets := normals(rand.New(rand.NewPCG(1, 2)), v.Shape().Size())
				floats.Scale(0.05, offsets)
				require.NoError(t, v.SetValue(tensors.FromValue(offsets)))
			}
		}
		checkGradients(t, on, store, network, h, images[float64](2, 2),
			tensors.FromValue([][]int32{{3}, {8}}))
	}
}

// checkGradients compares the gradient of the loss by each variable with finite differences along a
// random direction, in which all entries count, and their number with Count.
func checkGradients(t *testing.T, on compute.Backend, store *model.Store, network ebssc.Network,
	h ebssc.Hyper, images, labels *tensors.Tensor) {
	// One graph for both: compiling takes longer than computing the gradients with each loss.
	exec, err := model.NewExec(on, store, func(scope *model.Scope, images, labels *Node) []*Node {
		loss := softmaxLoss(network.Forward(scope, h, images).Scores, labels)
		return append(scope.BuildTrainableVariablesGradientsGraph(loss), loss)
	})
	require.NoError(t, err)
	defer exec.Finalize()
	run := func() []*tensors.Tensor {
		outputs, err := exec.Call(images, labels)
		require.NoError(t, err)
		return outputs
	}
	gradients := run()
	gradients = gradients[:len(gradients)-1]
	lossAt := func() float64 { return run()[len(gradients)].Value().(float64) }
	i, size, rng := 0, 0, rand.New(rand.NewPCG(3, 4))
	for v := range store.IterVariables() {
		if !v.Trainable {
			continue
		}
		direction := normals(rng, v.Shape().Size())
		slope := floats.Dot(direction, tensors.MustCopyFlatData[float64](gradients[i]))
		i, size = i+1, size+len(direction)
		numeric := derivative(t, v, direction, lossAt)
		require.InDelta(t, numeric, slope, 1e-6+1e-4*math.Abs(numeric), "%+v: %s", network, v.Path())
	}
	require.Equal(t, []int{i, i}, []int{len(gradients), len(network.Variables(store))})
	count, err := network.Count()
	require.NoError(t, err)
	require.Equal(t, count.Total(), size)
}

// derivative of f by a variable along a direction, by central differences.
func derivative(t *testing.T, v *model.Variable, direction []float64, f func() float64) float64 {
	const step = 1e-6
	original := tensors.MustCopyFlatData[float64](v.MustValue())
	at := func(shift float64) float64 {
		moved := floats.AddScaledTo(make([]float64, len(original)), original, shift, direction)
		require.NoError(t, v.SetValue(tensors.FromFlatDataAndDimensions(moved, v.Shape().Dimensions...)))
		return f()
	}
	defer at(0)
	return (at(step) - at(-step)) / (2 * step)
}

// With equal thresholds for all classes, EBC's code is SSC's for each of them, and so is its
// energy.
func TestEqualClassThresholdsGiveSSC(t *testing.T) {
	row := experiments.SevenBlocks{Body: ebssc.SSC, EBCFrom: 6}
	ebc, ssc := tiny(row, 3), tiny(experiments.SevenBlocks{Body: ebssc.SSC}, 3)
	h := hyper(func(h *ebssc.Hyper) { h.ClassSpread, h.Beta = 0, 0.02 })
	results := func(network ebssc.Network) []*tensors.Tensor {
		outputs, err := model.CallOnceN(xla, newStore(),
			func(scope *model.Scope, images *Node) (nodes []*Node) {
				pass := network.Forward(scope, h, images)
				for _, block := range []int{3, 4} { // conv6 and conv7
					nodes = append(nodes, pass.Codes[block], InsertAxes(pass.Energies[block], -1))
				}
				return nodes
			}, images[float32](3, 2))
		require.NoError(t, err)
		return outputs
	}
	shared, byClass := results(ssc), results(ebc)
	for i := range shared {
		require.Equal(t, append([]int{2, 10}, shared[i].Shape().Dimensions[1:]...),
			byClass[i].Shape().Dimensions)
		want, got := tensors.MustCopyFlatData[float32](shared[i]),
			tensors.MustCopyFlatData[float32](byClass[i])
		size := len(want) / 2
		for hypothesis := range 20 {
			image := hypothesis / 10
			require.InDeltaSlice(t, want[image*size:(image+1)*size],
				got[hypothesis*size:(hypothesis+1)*size], 1e-5)
		}
	}
}

// Sec. 3: class scores, the logits of the softmax, are the energies of the class-specific blocks
// alone, conv6 and conv7 of SSC+EBC₆₋₇, minus their mean; the blocks below do not depend on the
// hypothesis.
func TestScoresAreClassEnergies(t *testing.T) {
	const scale, classes = 20.0, 10
	network := tiny(rowNamed(t, "ssc-ebc67"), 3)
	store, h := newStore(), hyper(func(h *ebssc.Hyper) { h.EnergyScale, h.Beta = scale, 0.02 })
	outputs, err := model.CallOnceN(xla, store, func(scope *model.Scope, images *Node) []*Node {
		pass := network.Forward(scope, h, images)
		return append([]*Node{pass.Scores, pass.Energies[3], pass.Energies[4]}, pass.Energies[:3]...)
	}, images[float64](6, 2))
	require.NoError(t, err)
	require.Len(t, outputs, 3+3)
	for _, below := range outputs[3:] {
		require.Equal(t, []int{2}, below.Shape().Dimensions,
			"the energy of a block below is not one of a hypothesis")
		for _, energy := range tensors.MustCopyFlatData[float64](below) {
			require.Greater(t, energy, 0.01, "it is too small to be missed or found in a sum")
		}
	}

	scores := tensors.MustCopyFlatData[float64](outputs[0])
	conv6, conv7 := tensors.MustCopyFlatData[float64](outputs[1]),
		tensors.MustCopyFlatData[float64](outputs[2])
	require.Len(t, scores, 2*classes)
	sums := make([]float64, len(scores))
	for i := range scores {
		require.Greater(t, min(conv6[i], conv7[i]), 0.01)
		sums[i] = scale * (conv6[i] + conv7[i])
	}
	require.InDeltaSlice(t, centred(sums, classes), scores, 1e-9)
}

// dropoutCodes are the codes of each block under a dropout rate, in training or not, where all
// hypotheses start equal.
func dropoutCodes(t *testing.T, network ebssc.Network, images *tensors.Tensor, rate float64,
	training bool) [][]float64 {
	store, h := newStore(), hyper(func(h *ebssc.Hyper) { h.Dropout, h.ClassSpread = rate, 0 })
	require.NoError(t, store.SetRNGStateFromSeed(1))
	return outputs(t, store, images, func(scope *model.Scope, images *Node) []*Node {
		scope.Store().SetTraining(images.Graph(), training)
		pass := network.Forward(scope, h, images)
		return append(pass.Codes, pass.Scores)
	})
}

// All hypotheses of an image share one dropout mask before conv7; different images have different
// masks.
func TestHypothesesShareDropout(t *testing.T) {
	network := tiny(rowNamed(t, "ssc-ebc67"), 3)
	// Alone, conv6 and conv7 have no dropout but the one between them.
	network.Layers = network.Layers[5:]
	one := tensors.MustCopyFlatData[float64](images[float64](7, 1))
	twice := tensors.FromFlatDataAndDimensions(slices.Repeat(one, 2), 2, 8, 8, 3)
	codes := dropoutCodes(t, network, twice, 0.3, true)
	byHypothesis := func(block, image, hypothesis int) []float64 {
		size := len(codes[block]) / (2 * network.Classes)
		at := (image*network.Classes + hypothesis) * size
		return codes[block][at : at+size]
	}
	const conv6, conv7 = 0, 1
	for image := range 2 {
		for hypothesis := range network.Classes {
			require.InDeltaSlice(t, byHypothesis(conv6, 0, 0), byHypothesis(conv6, image, hypothesis), 1e-6)
			require.InDeltaSlice(t, byHypothesis(conv7, image, 0), byHypothesis(conv7, image, hypothesis),
				1e-6)
		}
	}
	require.Greater(t, floats.Distance(byHypothesis(conv7, 0, 0), byHypothesis(conv7, 1, 0), 2), 0.1)
}

// Without training dropout does nothing; in training it is before the second convolution and before
// LC, not before the first.
func TestDropoutIsForTraining(t *testing.T) {
	network, input := tiny(rowNamed(t, "relu-lc7"), 3), images[float64](8, 2)
	for blocks := 1; blocks <= 2; blocks++ {
		network.Layers = network.Layers[:blocks]
		plain, dropped := dropoutCodes(t, network, input, 0, true),
			dropoutCodes(t, network, input, 0.3, true)
		require.InDeltaSlice(t, plain[0], dropped[0], 1e-5, "conv1 sees the whole image")
		require.Greater(t, floats.Distance(plain[1], dropped[1], 2), 0.1, "conv2 or LC does not")
		require.Equal(t, plain, dropoutCodes(t, network, input, 0.3, false))
	}
}

// Codes of spherical blocks have unit norm, and codes are never negative. Where the first block is
// spherical, an image times 3 has the same scores.
func TestCodesOnTheSphere(t *testing.T) {
	for _, name := range []string{"crelu-sn-lc7", "ssc-ebc67"} {
		network := tiny(rowNamed(t, name), 3)
		all := outputs(t, newStore(), images[float64](4, 2),
			func(scope *model.Scope, images *Node) []*Node {
				var norms, lowest []*Node
				pass := network.Forward(scope, hyper(), images)
				brighter := network.Forward(scope.Store().RootScope().ResetVisited(), hyper(),
					MulScalar(images, 3))
				for i, code := range pass.Codes {
					lowest = append(lowest, ReduceAllMin(code))
					if network.Blocks()[i].Block.Coding.Spherical {
						norms = append(norms, Reshape(Sqrt(ReduceSum(Square(code), -3, -2, -1)), -1))
					}
				}
				return []*Node{Concatenate(norms, 0), Stack(lowest, 0), pass.Scores, brighter.Scores}
			})
		require.InDeltaSlice(t, all[2], all[3], 1e-9, "an image's norm does not count")
		for _, norm := range all[0] {
			require.InDelta(t, 1, norm, 1e-12, name)
		}
		require.GreaterOrEqual(t, slices.Min(all[1]), 0.0, name)
	}
}

// The top energy is one of those that are summed up.
func TestTopEnergy(t *testing.T) {
	n := twoBlocks(0)
	n.Layers[0].Block.Coding, n.Classifier = ebssc.EBC, ebssc.EnergyTop
	all := outputs(t, randomModel(t, n, 7), randomImages(n, 7),
		func(scope *model.Scope, images *Node) []*Node {
			pass := n.Forward(scope, hyper(func(h *ebssc.Hyper) { h.EnergyScale = 2 }), images)
			return []*Node{pass.Scores, MulScalar(pass.Energies[1], 2)}
		})
	require.InDeltaSlice(t, centred(all[1], n.Classes), all[0], 1e-12)
}

// LC's scores are a 1×1 convolution's with weights in units of √n, averaged over the positions; the
// code of unit norm has n = 4·4·8 entries.
func TestLinearClassifier(t *testing.T) {
	n := withPool(false, ebssc.SSC, ebssc.SSC)
	store := randomModel(t, n, 7)
	all := outputs(t, store, randomImages(n, 7), func(scope *model.Scope, images *Node) []*Node {
		pass := n.Forward(scope, hyper(func(h *ebssc.Hyper) { h.ClassifierScale = 2 }), images)
		byPosition := Einsum("nhwk,ky->nhwy", pass.Codes[1],
			store.GetVariable("/classifier/weights").NodeValue(images.Graph()))
		return []*Node{pass.Scores, MulScalar(ReduceMean(byPosition, 1, 2), 2*math.Sqrt(4*4*8))}
	})
	require.InDeltaSlice(t, all[1], all[0], 1e-9)
}

// XLA on a CPU takes the fast kernels. The Go backend, and XLA that is not known to be on a CPU,
// take the plain ones. All agree on the scores of the row with class-specific blocks, on its
// energies, and on the energies' gradients. That row has every operation of the others but the
// linear classifier's product. In bfloat16, which the fast kernels alone know, they agree to about
// two digits.
func TestKernelsAgree(t *testing.T) {
	plainGo, _, err := device.Open(context.Background(), "go")
	require.NoError(t, err)
	defer plainGo.Finalize()
	// Energies times 1, not 100: agreement is asked of the model, not of the factor.
	h := hyper(func(h *ebssc.Hyper) { h.EnergyScale = 1 })
	// conv3 has 16 channels and 16 filters, enough for Winograd's transforms
	network := tiny(rowNamed(t, "ssc-ebc67"), 8)
	run := func(on compute.Backend, fast bool) (flat [][]float32) {
		outputs, err := model.CallOnceN(on, newStore(), func(scope *model.Scope, images *Node) []*Node {
			require.Equal(t, fast, ebssc.Fast(images.Graph()), on.Name())
			pass := network.Forward(scope, h, images)
			// of one class: classes start nearly equal, and the softmax's gradients cancel
			of := Add(pass.Energies[3], pass.Energies[4])
			loss := ReduceAllSum(SliceAxis(of, 1, AxisElem(1)))
			return append([]*Node{pass.Scores, of},
				scope.BuildTrainableVariablesGradientsGraph(loss)...)
			// bfloat16 switches no entry of these images' codes on or off, which changes gradients at once
		}, images[float32](2, 2))
		require.NoError(t, err)
		for _, output := range outputs {
			flat = append(flat, tensors.MustCopyFlatData[float32](output))
		}
		return flat
	}
	want, fast := run(hidden{xla}, false), run(xla, true)
	require.NotEqual(t, want, fast, "other kernels round otherwise")
	goes := run(plainGo, false)
	h.Precision = ebssc.BFloat16
	require.Equal(t, want, run(hidden{xla}, false))
	half := run(xla, true)
	require.NotEqual(t, fast, half)
	for tolerance, all := range map[float64][][][]float32{1e-4: {fast, goes}, 0.015: {half}} {
		for i, got := range slices.Concat(all...) {
			want := want[i%len(want)]
			// Gradients by offsets and thresholds are √n as large as the others: compare on the scale of
			// each.
			scale := math.Max(1, math.Abs(float64(slices.MaxFunc(want, func(a, b float32) int {
				return cmp.Compare(math.Abs(float64(a)), math.Abs(float64(b)))
			}))))
			require.InDeltaSlice(t, want, got, tolerance*scale, "output %d", i)
		}
	}
}

// Adam's first step is as long as its rate. That of offsets and thresholds is as long as the
// entries of the code below are large, 1/√n, times what the settings say: else they outgrow the
// codes.
func TestStepsAreInUnitsOfCodes(t *testing.T) {
	network := twoBlocks(0) // for images of 12×12×1; the lower code is 5×5×6, pooled 6×6×6
	network.Layers = slices.Insert(network.Layers, 1,
		ebssc.Layer{Name: "pool", Pool: &ebssc.Pool{Window: 2, Stride: 1, Padding: 1}})
	const rate = 1e-4
	h := hyper(func(h *ebssc.Hyper) { h.BetaLRScale, h.ClassLRScale = 2, 10 })
	store := withVariables(newStore(), network, dtypes.Float32, h)
	before := map[string][]float32{}
	for name, value := range network.Variables(store) {
		before[name] = tensors.MustCopyFlatData[float32](value)
	}
	_, err := newTrainer(network, store, h, rate).TrainStep(digits(1, 2))
	require.NoError(t, err)
	for name, factor := range map[string]float64{
		"conv1/offset": 1 / math.Sqrt(12*12), "conv1/thresholds": 2 / math.Sqrt(12*12),
		"conv2/offset": 1 / math.Sqrt(6*6*6), "conv2/thresholds": 10 / math.Sqrt(6*6*6),
	} {
		largest := 0.0
		for i, value := range tensors.MustCopyFlatData[float32](network.Variables(store)[name]) {
			largest = math.Max(largest, math.Abs(float64(value-before[name][i])))
		}
		require.InEpsilon(t, rate*factor, largest, 0.02, name)
	}
}

// newTrainer trains a network by Adam at a learning rate.
func newTrainer(network ebssc.Network, store *model.Store, h ebssc.Hyper,
	rate float64) *train.Trainer {
	return train.NewTrainer(xla, store, func(scope *model.Scope, images *Node) *Node {
		return network.Forward(scope, h, images).Scores
	}, loss.SparseCategoricalCrossEntropyLogits, optimizer.Adam().LearningRate(rate).Done(), nil, nil)
}

// digits are a batch of n random images for twoBlocks, of classes 0, 1, ….
func digits(seed uint64, n int) train.Batch {
	labels, pixels := make([][]int32, n), tensors.MustCopyFlatData[float32](images[float32](seed, n))
	for i := range labels {
		labels[i] = []int32{int32(i)}
	}
	inputs := tensors.FromFlatDataAndDimensions(pixels[:n*12*12], n, 12, 12, 1)
	return train.Batch{Inputs: []*tensors.Tensor{inputs},
		Labels: []*tensors.Tensor{tensors.FromValue(labels)}}
}

// Eq. (train_obj2): after each training step β and ŵ are not negative, however far the optimizer
// stepped.
func TestThresholdsStayNonNegative(t *testing.T) {
	store := newStore()
	trainer := newTrainer(twoBlocks(0), store, hyper(), 0.5) // it has both kinds of thresholds
	atZero := map[string]bool{}
	for step := range 5 {
		_, err := trainer.TrainStep(digits(uint64(step), 3))
		require.NoError(t, err)
		for v := range store.IterVariables() {
			if v.Name() != "thresholds" {
				continue
			}
			lowest := slices.Min(tensors.MustCopyFlatData[float32](v.MustValue()))
			require.GreaterOrEqual(t, lowest, float32(0), "%s at step %d", v.Path(), step)
			atZero[v.Path()] = atZero[v.Path()] || lowest == 0
		}
	}
	require.Equal(t, map[string]bool{"/conv1/thresholds": true, "/conv2/thresholds": true}, atZero,
		"the projection was needed in both")
}

// Eq. (train_obj2): the penalty is α/2 times the squares of dictionaries and thresholds, without
// the offsets, and part of the loss. A step scale of 0 fixes β, bit for bit; without it β moves.
func TestPenaltyAndBetaLRScale(t *testing.T) {
	network := twoBlocks(0)
	losses := map[float64]float32{}
	for _, alpha := range []float64{0, 0.5} {
		h := hyper(func(h *ebssc.Hyper) { h.Alpha, h.BetaLRScale, h.Beta = alpha, alpha, 0.05 })
		store := withVariables(newStore(), network, dtypes.Float32, h)
		offset := tensors.FromValue([]float32{0.1, 0.1, -0.1})
		require.NoError(t, store.GetVariable("/conv1/offset").SetValue(offset))
		before := network.Variables(store)["conv1/thresholds"].Value()
		squares := 0.0
		for name, value := range network.Variables(store) {
			if !strings.HasSuffix(name, "offset") {
				for _, v := range tensors.MustCopyFlatData[float32](value) {
					squares += float64(v) * float64(v)
				}
			}
		}
		penalty, err := model.CallOnce(xla, store, func(scope *model.Scope, images *Node) *Node {
			return network.Forward(scope, h, images).Penalty
		}, digits(1, 1).Inputs[0])
		require.NoError(t, err)
		require.InDelta(t, alpha/2*squares, tensors.ToScalar[float32](penalty), 1e-3)
		metrics, err := newTrainer(network, store, h, 0.001).TrainStep(digits(1, 2))
		require.NoError(t, err)
		losses[alpha] = tensors.ToScalar[float32](metrics[0]) - float32(alpha/2*squares)
		require.Equal(t, h.BetaLRScale == 0,
			before == network.Variables(store)["conv1/thresholds"].Value())
	}
	require.InDelta(t, losses[0], losses[0.5], 1e-3)
}

// Adding a block leaves the other blocks' initial values as they are; another seed changes them.
// Filters start orthonormal, times √2.
func TestInitialValuesDependOnSeedAndPath(t *testing.T) {
	initial := func(n ebssc.Network, seed int64, variable string) []float32 {
		store := newStore()
		store.SetParam(model.ParamInitialSeed, seed)
		withVariables(store, n, dtypes.Float32, hyper())
		return tensors.MustCopyFlatData[float32](n.Variables(store)[variable])
	}
	const first, last = "conv1/dictionary", "conv7/dictionary"
	linear, energies := tiny(rowNamed(t, "crelu-lc7"), 2), tiny(rowNamed(t, "ssc-ebc67"), 2)
	require.Equal(t, initial(linear, 1, first), initial(energies, 1, first))
	require.NotEqual(t, initial(linear, 1, first), initial(linear, 2, first))
	fewer := linear
	fewer.Layers = slices.Delete(slices.Clone(linear.Layers), 1, 2)
	require.Equal(t, initial(linear, 1, last), initial(fewer, 1, last))
	var gram [3]float64 // of both filters of conv1
	for filters := range slices.Chunk(initial(linear, 1, first), 2) {
		a, b := float64(filters[0]), float64(filters[1])
		gram = [3]float64{gram[0] + a*a, gram[1] + a*b, gram[2] + b*b}
	}
	require.InDeltaSlice(t, []float64{2, 0, 2}, gram[:], 1e-6, "orthonormal, times √2")
}

// A network that cannot be built is refused before anything is compiled.
func TestValidate(t *testing.T) {
	row := rowNamed(t, "ssc-ebc67")
	require.NoError(t, tiny(row, 2).Validate())
	for _, c := range []struct {
		spoil func(*ebssc.Network)
		want  string
	}{
		{func(n *ebssc.Network) { n.Layers[0].Block.Filters = 0 }, "at least 1 is needed"},
		{func(n *ebssc.Network) { n.Height = 1; n.Layers[2].Pool.Padding = 0 }, "smaller than"},
		// (1 − 2)/2 + 1 is 1 in integers, so the size alone does not tell.
		{func(n *ebssc.Network) {
			n.Height, n.Width = 1, 1
			n.Layers[0].Block.Kernel, n.Layers[0].Block.Stride, n.Layers[0].Block.Padding = 2, 2, 0
		}, "smaller than"},
		{func(n *ebssc.Network) { n.Layers[6].Block.Coding = ebssc.SSC }, "must be class-specific"},
		{func(n *ebssc.Network) { n.Classifier = ebssc.Linear }, "depends on the hypothesis"},
		{func(n *ebssc.Network) { n.Classes = 1 }, "at least 2"},
		{func(n *ebssc.Network) {
			n.Layers[0].Block.Coding = ebssc.Coding{Thresholds: ebssc.Beta, Rectified: true}
		}, "a rectified block has no thresholds"},
		{func(n *ebssc.Network) {
			n.Layers[6].Block.Coding = ebssc.Coding{Thresholds: ebssc.ClassSpecific}
		}, "must be spherical"},
		{func(n *ebssc.Network) { n.Layers[0].Block.Coding.Thresholds = "beta-filter" },
			`thresholds "beta-filter" are unknown`},
		{func(n *ebssc.Network) { n.Layers[1].Name = "conv1" }, "names must differ"},
		{func(n *ebssc.Network) { n.Layers[2].Pool.Padding = 3 }, "windows of 3 that see no image"},
		{func(n *ebssc.Network) { n.Layers = n.Layers[2:3] }, "no layer is a block"},
		{func(n *ebssc.Network) { n.Sweeps, n.Layers[0].Block.Coding = 1, ebssc.CReLU },
			"conv1: with sweeps every block needs a split code of unit norm"},
		{func(n *ebssc.Network) { n.Sweeps = -1 }, "-1 sweeps"},
		{func(n *ebssc.Network) { n.Sweeps = 1e9 }, "1000000000 sweeps"},
		{func(n *ebssc.Network) { n.Layers[1].Name = "classifier" }, "linear classifier"},
		{func(n *ebssc.Network) { n.Layers[1].Name = "conv/1" }, `"/"`},
	} {
		network := tiny(row, 2)
		c.spoil(&network)
		require.ErrorContains(t, network.Validate(), c.want)
	}
}

// A shape that the images do not have is an error, not a wrong result.
func TestForwardRefusesOtherImages(t *testing.T) {
	exec, err := model.NewExec(xla, newStore(), func(scope *model.Scope, images *Node) *Node {
		return tiny(rowNamed(t, "relu-lc7"), 2).Forward(scope, hyper(), images).Scores
	})
	require.NoError(t, err)
	_, err = exec.Compile(shapes.Make(dtypes.Float32, 1, 9, 8, 3))
	require.Error(t, err)
}
