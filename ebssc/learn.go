package ebssc

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
)

// registerUpdate registers an update that follows the optimizer's step: it multiplies the step by
// stepScale and then, if nonNegative, projects the variable onto the non-negative orthant (the
// constraint of Eq. (train_obj2)).
//
// Adam's steps are about as long as the learning rate, whatever the gradient's size. The n entries
// of a unit-norm code are near 1/√n, so thresholds and offsets must move in steps of that scale, or
// codes go dead within a few steps. Rescaling the variables would do the same, but this way they
// keep the paper's units.
//
// The update is compiled into the training step. Outside training nothing is registered.
func registerUpdate(scope *model.Scope, v *model.Variable, g *Graph, stepScale float64,
	nonNegative bool) {
	if !scope.IsTraining(g) || (stepScale == 1 && !nonNegative) {
		return
	}
	before := v.NodeValue(g)
	train.AddPerStepUpdateGraphFn(scope.In("learn_%s", v.Name()), g, func(_ *model.Scope, g *Graph) {
		after := Add(before, MulScalar(Sub(v.NodeValue(g), before), stepScale))
		if nonNegative {
			after = MaxScalar(after, 0)
		}
		v.SetNodeValue(after)
	})
}

// penalty is α/2 (‖ŵ‖² + ‖d‖²) of Eq. (train_obj2), a scalar: over dictionaries, thresholds and the
// linear classifier (as it is learned, see linear), without the offsets. In training it is added to
// the trainer's loss.
func penalty(scope *model.Scope, h Hyper, g *Graph, dtype dtypes.DType) *Node {
	sum := ScalarZero(g, dtype)
	if h.Alpha == 0 {
		return sum
	}
	for v := range scope.Store().IterVariables() {
		if v.Trainable && v.Name() != "offset" {
			sum = Add(sum, ReduceAllSum(Square(v.NodeValue(g))))
		}
	}
	sum = MulScalar(sum, h.Alpha/2)
	if scope.IsTraining(g) {
		train.AddRegularizationLoss(sum)
	}
	return sum
}
