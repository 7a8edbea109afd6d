package train_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/train"
)

// torchStep is a line of torchSteps.
type torchStep struct {
	momentum, decay         float64
	side, channels, filters int
	weights                 []float64
}

// torchSteps are the weights [filters, pixels] after three steps of PyTorch 2.13's Muon in float64,
// whose Newton–Schulz steps take bfloat16, which is undone here:
//
//	import torch
//	torch.Tensor.bfloat16 = lambda x: x
//	for momentum, decay, filters, pixels in (0.95, 0.5, 4, 2), (0.5, 0, 3, 4):
//	    n = filters * pixels
//	    d = torch.linspace(-1, 1, n, dtype=torch.float64).sin().reshape(filters, pixels)
//	    d = torch.nn.Parameter(d)
//	    muon = torch.optim.Muon([d], lr=0.1, weight_decay=decay, momentum=momentum, nesterov=True)
//	    for step in 1, 2, 3:
//	        squares = torch.arange(n, dtype=torch.float64) ** 2
//	        d.grad = torch.cos(step * squares).reshape(filters, pixels)
//	        muon.step()
//	    print([round(x, 12) for x in d.flatten().tolist()])
var torchSteps = []torchStep{
	{0.95, 0.5, 1, 2, 4, []float64{
		-1.034822839324, -0.61856999358, -0.296498373944, -0.045733143701, 0.158852588344, 0.059338887508,
		0.708018517211, 0.821263035899,
	}},
	{0.5, 0, 2, 1, 3, []float64{
		-1.045613348974, -0.674336656945, -0.597392518636, -0.362864029727, -0.209689794646,
		-0.280716708951,
		0.153858842314, 0.371486539924, 0.512040646686, 0.596663011442, 0.564301250297, 0.924786812739,
	}},
}

// gpu takes a backend for one on a GPU.
type gpu struct{ compute.Backend }

func (gpu) IsCUDA() bool { return true }

// Dictionaries above the first block take the steps of torch.optim.Muon; the first, and what is no
// dictionary, Adam's. Networks are in float32, in which a CPU orthogonalises too, nearly as well,
// and a GPU in float64.
func TestMuonTakesTorchsSteps(t *testing.T) {
	t.Parallel()
	for _, torch := range torchSteps {
		testSteps(t, torch, golang, func(x *Node) *Node { return x }, 1e-11)
	}
	single := func(x *Node) *Node { return ConvertDType(x, dtypes.Float32) }
	testSteps(t, torchSteps[0], golang, single, 1e-6)
	// 1e-7 is too little for the same steps orthogonalised in float32.
	testSteps(t, torchSteps[0], gpu{golang}, single, 1e-7)
	zero := MustExecOnce(golang, train.Orthogonalize,
		tensors.FromFlatDataAndDimensions(make([]float32, 6), 3, 2))
	require.Equal(t, make([]float32, 6), tensors.MustCopyFlatData[float32](zero),
		"a dictionary without gradient stays")
}

// testSteps compares three steps with torch's, with variables as the function `as` converts them.
func testSteps(
	t *testing.T, torch torchStep, backend compute.Backend, as func(*Node) *Node, delta float64,
) {
	pixels := torch.side * torch.side * torch.channels
	n := torch.filters * pixels
	// [k, k, C, K], from numbers in the order of [filters, pixels].
	dictionary := func(at func(i int) float64) *tensors.Tensor {
		values := make([]float64, n)
		for i := range n {
			values[i%pixels*torch.filters+i/pixels] = at(i)
		}
		return tensors.FromFlatDataAndDimensions(values, torch.side, torch.side, torch.channels,
			torch.filters)
	}
	converted := func(x *tensors.Tensor) *tensors.Tensor { return MustExecOnce(golang, as, x) }
	numbers := func(x *tensors.Tensor) []float64 {
		double := func(x *Node) *Node { return ConvertDType(x, dtypes.Float64) }
		return tensors.MustCopyFlatData[float64](MustExecOnce(golang, double, x))
	}
	initial := dictionary(func(i int) float64 { return math.Sin(2*float64(i)/float64(n-1) - 1) })
	run := experiments.Run{Network: experiments.Table[0].Network(1), Hyper: experiments.Recipe}
	run.Hyper.MuonRate, run.Hyper.LearningRate = 0.1, 0.01
	run.Hyper.MuonMomentum, run.Hyper.MuonDecay = torch.momentum, torch.decay
	store := model.NewStore()
	store.SetParam("learning_rate", run.Hyper.LearningRate)
	names := []string{"conv1/dictionary", "conv2/dictionary", "conv2/offset"}
	for _, name := range names {
		_, err := store.CreateVariable(name, converted(initial))
		require.NoError(t, err)
	}
	exec, err := model.NewExec(golang, store, func(scope *model.Scope, gradient *Node) *Node {
		loss := ScalarZero(gradient.Graph(), gradient.DType())
		for _, name := range names {
			variable := store.GetVariable(name).NodeValue(gradient.Graph())
			loss = Add(loss, ReduceAllSum(Mul(gradient, variable)))
		}
		train.NewOptimizer(run, backend).UpdateGraph(scope, gradient.Graph(), loss)
		return loss
	})
	require.NoError(t, err)
	for step := 1; step <= 3; step++ {
		gradient := func(i int) float64 { return math.Cos(float64(step * i * i)) }
		_, err := exec.Call(converted(dictionary(gradient)))
		require.NoError(t, err)
		if step == 1 { // Adam's first step is as long as its rate
			for _, name := range []string{"conv1/dictionary", "conv2/offset"} {
				after := numbers(store.GetVariable(name).MustValue())
				for i, before := range tensors.MustCopyFlatData[float64](initial) {
					require.InDelta(t, 0.01, math.Abs(after[i]-before), max(1e-6, 10*delta), name)
				}
			}
		}
	}
	want := dictionary(func(i int) float64 { return torch.weights[i] })
	require.InDeltaSlice(t, tensors.MustCopyFlatData[float64](want),
		numbers(store.GetVariable("conv2/dictionary").MustValue()), delta)
	for v := range store.IterVariables() {
		require.Equal(t, v.Name() == "dictionary" || v.Name() == "offset", v.Trainable, v.Path())
	}
}
