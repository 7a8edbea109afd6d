package ebssc_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/device"
	"ebsscgo/internal/device/devicetest"
)

// xla is the backend that trains: XLA on the CPU, with the fast kernels.
var xla compute.Backend

// hidden is the same for a model that does not know that it is on a CPU, and takes the plain
// kernels.
type hidden struct{ compute.Backend }

func TestMain(m *testing.M) {
	devicetest.CompileFast()
	var err error
	if xla, _, err = device.Open(context.Background(), "cpu"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// compute64 compiles a graph function of float64 vectors, once for each shape it is called with.
func compute64(f func(inputs []*Node) *Node) func(t require.TestingT,
	inputs ...[]float64) []float64 {
	exec := MustNewExec(xla, f)
	return func(t require.TestingT, inputs ...[]float64) []float64 {
		args := make([]any, len(inputs))
		for i, input := range inputs {
			args[i] = input
		}
		output, err := exec.Call1(args...)
		require.NoError(t, err)
		return tensors.MustCopyFlatData[float64](output)
	}
}

// centred subtracts from the values of each image their mean over the classes.
func centred(values []float64, classes int) (differences []float64) {
	for image := range slices.Chunk(values, classes) {
		mean := floats.Sum(image) / float64(classes)
		for _, value := range image {
			differences = append(differences, value-mean)
		}
	}
	return differences
}

// normals are n values of a standard normal distribution.
func normals(rng *rand.Rand, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	return values
}

// tiny is a row's network for images of 8×8×3, without conv4 and conv5: they are as conv3 is, and
// take as long to compile.
func tiny(row experiments.Architecture, width int) ebssc.Network {
	network := row.Network(width)
	network.Height, network.Width = 8, 8
	network.Layers = slices.Delete(network.Layers, 4, 6)
	return network
}

// rowNamed is the declared experiment of that name.
func rowNamed(t require.TestingT, name string) experiments.Experiment {
	_, row, err := catalogue.All.Experiment(name)
	require.NoError(t, err)
	return row
}

// hyper are the recipe's hyperparameters without dropout, changed.
func hyper(changes ...func(*ebssc.Hyper)) ebssc.Hyper {
	h := experiments.Recipe.Hyper
	h.Dropout = 0
	for _, change := range changes {
		change(&h)
	}
	return h
}

// newStore is a store with a seed and without variables.
func newStore() *model.Store {
	store := model.NewStore()
	store.SetParam(model.ParamInitialSeed, int64(7))
	return store
}

// withVariables adds the network's initial variables to a store. It builds a graph to create them,
// but compiles nothing.
func withVariables(store *model.Store, network ebssc.Network, dtype dtypes.DType,
	h ebssc.Hyper) *model.Store {
	g := NewGraph(xla, "variables")
	defer g.Finalize()
	network.Forward(store.RootScope(), h, Parameter(g, "images",
		shapes.Make(dtype, 1, network.Height, network.Width, network.Channels)))
	return store
}

// images are n random images of 8×8×3.
func images[T float32 | float64](seed uint64, n int) *tensors.Tensor {
	rng := rand.New(rand.NewPCG(seed, 1))
	values := make([]T, n*8*8*3)
	for i := range values {
		values[i] = T(rng.NormFloat64())
	}
	return tensors.FromFlatDataAndDimensions(values, n, 8, 8, 3)
}
