package train

import (
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"ebsscgo/experiments"
)

// newtonSchulz are the coefficients of x, x³ and x⁵ in a step of orthogonalize, those of Jordan et
// al. (2024) and of torch.optim.Muon. Five steps take each singular value between 0.01 and 1 to
// about 0.7 to 1.2.
var newtonSchulz = [3]float64{3.4445, -4.7750, 2.0315}

// muon is Jordan et al.'s optimizer of matrices, for the dictionaries of all blocks but the first.
// A step is the momentum of the gradients with all singular values set to about 1, so it moves a
// code by as much at every width. GoMLX's Adam takes all other variables, among them the first
// dictionary.
type muon struct {
	optimizer.Interface // Adam

	run experiments.Run
	// inFloat64 says that gradients are orthogonalised in float64. GPUs multiply float32 as TF32,
	// which leaves singular values of up to 2.5.
	inFloat64 bool
}

// newOptimizer returns the run's optimizer on a backend.
func newOptimizer(run experiments.Run, backend compute.Backend) optimizer.Interface {
	adam := optimizer.Adam().Done()
	if run.Hyper.Optimizer == experiments.Adam {
		return adam
	}
	gpu, ok := backend.(interface{ IsCUDA() bool })
	return &muon{adam, run, ok && gpu.IsCUDA()}
}

// UpdateGraph adds a step of all trained variables to the graph.
func (o *muon) UpdateGraph(scope *model.Scope, g *Graph, loss *Node) {
	gradients := scope.BuildTrainableVariablesGradientsGraph(loss)
	first := model.JoinPath(model.RootScopePath, o.run.Network.Blocks()[0].Name)
	var dictionaries []*model.Variable
	var mine, others []*Node
	for v := range scope.IterVariables() {
		switch {
		case !v.Trainable || !v.InUseByGraph(g):
			continue
		case v.Name() == "dictionary" && v.Scope() != first:
			dictionaries, mine = append(dictionaries, v), append(mine, gradients[0])
			v.SetTrainable(false) // for now: this is how Adam is told to leave it alone
		default:
			others = append(others, gradients[0])
		}
		gradients = gradients[1:]
	}
	o.Interface.(train.OptimizeWithGradients).UpdateGraphWithGradients(scope, others, loss.DType())

	// The schedule has set Adam's rate. Muon's follows it.
	h := o.run.Hyper
	adamRate := optimizer.LearningRateVar(scope, loss.DType(), h.LearningRate).NodeValue(g)
	rate := MulScalar(adamRate, h.MuonRate/h.LearningRate)
	for i, v := range dictionaries {
		v.SetTrainable(true)
		o.step(scope, v, mine[i], rate)
	}
}

// step moves a dictionary [k, k, C, K] against its orthogonalised moving average of gradients, as
// far as rate says, after taking rate·decay of the dictionary away.
func (o *muon) step(scope *model.Scope, dictionary *model.Variable, gradient, rate *Node) {
	g, momentum := gradient.Graph(), o.run.Hyper.MuonMomentum
	path := model.JoinPath(model.RootScopePath, "muon", dictionary.Scope())
	zeros := scope.Store().Scope(path).WithInitializer(initializer.Zero)
	stored := zeros.VariableWithShape("momentum", dictionary.Shape()).SetTrainable(false)
	average := lerp(gradient, stored.NodeValue(g), momentum)
	stored.SetNodeValue(average)
	ahead := lerp(gradient, average, momentum) // Nesterov's

	shape := dictionary.Shape()
	filters := shape.Dim(-1)
	pixels := shape.Size() / filters
	matrix := Reshape(ahead, pixels, filters)
	if o.inFloat64 {
		matrix = ConvertDType(matrix, dtypes.Float64)
	}
	direction := Reshape(ConvertDType(orthogonalize(matrix), shape.DType), shape.Dimensions...)
	direction = MulScalar(direction, math.Sqrt(max(1, float64(filters)/float64(pixels))))
	rate = ConvertDType(rate, shape.DType)
	kept := Mul(dictionary.NodeValue(g), OneMinus(MulScalar(rate, o.run.Hyper.MuonDecay)))
	dictionary.SetNodeValue(Sub(kept, Mul(rate, direction)))
}

// lerp returns the point a share of the way from one value to another.
func lerp(from, to *Node, share float64) *Node {
	return Add(MulScalar(from, 1-share), MulScalar(to, share))
}

// orthogonalize returns nearly U·Vᵀ for a matrix X = U·S·Vᵀ: its singular vectors, with singular
// values near 1. 0 stays 0.
//
// Each Newton–Schulz step replaces X by a·X + b·X·G + c·X·G², G = Xᵀ·X. All these factors of X are
// polynomials in the first G, so they commute. Here they are multiplied up first, where they are
// small, and X takes part in two products only.
func orthogonalize(x *Node) *Node {
	wide := x.Shape().Dim(0) < x.Shape().Dim(1)
	if wide {
		x = Transpose(x, 0, 1)
	}
	x = Div(x, MaxScalar(Sqrt(ReduceAllSum(Square(x))), 1e-7)) // no division by 0
	gram := MatMul(Transpose(x, 0, 1), x)
	identity := DiagonalWithValue(ScalarOne(x.Graph(), x.DType()), gram.Shape().Dim(0))
	product := identity
	for range 5 {
		factor := Add(MulScalar(gram, newtonSchulz[1]), MulScalar(MatMul(gram, gram), newtonSchulz[2]))
		factor = Add(MulScalar(identity, newtonSchulz[0]), factor)
		product = MatMul(product, factor)
		gram = MatMul(factor, MatMul(gram, factor))
	}
	x = MatMul(x, product)
	if wide {
		x = Transpose(x, 0, 1)
	}
	return x
}
