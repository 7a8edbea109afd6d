package ebssc

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc/internal/ops"
)

// Classifier computes class scores from codes or their energies.
type Classifier string

const (
	// Linear is LC: a 1×1 convolution of the top code to Y channels, averaged over the positions.
	Linear Classifier = "LC"
	// EnergySum is EBC: the sum of the energies of all blocks whose codes depend on the hypothesis,
	// Eqs. (energy_fn), (train_obj2), minus its mean over the classes, times [Hyper.EnergyScale].
	EnergySum Classifier = "EBC"
	// EnergyTop scores by the energy of the top block instead of the sum.
	EnergyTop Classifier = "EBC-top"
)

// linear returns the scores [N, Y] of LC from the top code, whose entries have the root mean square
// rms.
//
// The weights that meet a unit-norm code of n entries are in units of √n, and so are their steps:
// 1/rms times the variable. The factor stays outside the variable, because beside weights several
// hundred times as large float32 would round a small step away.
func linear(scope *model.Scope, h Hyper, top *Node, rms float64, classes int) *Node {
	g := top.Graph()
	top = newDropout(scope, h, g).apply(top)
	// Both steps are linear: averaging first gives the same scores at less cost.
	pooled := ReduceMean(top, 1, 2)
	pooled.AssertRank(2)
	weights := variable(scope, "weights", pooled.DType(), []int{pooled.Shape().Dim(-1), classes},
		orthogonal(1))
	scale := h.ClassifierScale / rms
	return Dot(MulScalar(pooled, scale), weights.NodeValue(g)).Product()
}

// energy returns the class energies [N, Y] of EBC from the energies of the blocks: E_y = Σ_ℓ
// E_{ℓ,y} over the blocks whose codes depend on the hypothesis, each ‖z̃_{ℓ,y}‖₂ or, with sweeps,
// E'(x, y, z) at the inferred codes; of EnergyTop the highest block's alone.
func (c Classifier) energy(energies []*Node) *Node {
	ofHypotheses := slices.DeleteFunc(slices.Clone(energies),
		func(e *Node) bool { return e == nil || e.Rank() < 2 })
	if c == EnergyTop {
		return ofHypotheses[len(ofHypotheses)-1]
	}
	return ops.Sum(ofHypotheses)
}

// Scores are class scores of images, one row an image [N, Y]: the logits of the softmax of Eq.
// (train_obj2).
type Scores [][]float32

// Predictions are the classes with the highest scores, the first of equal ones.
func (s Scores) Predictions() []uint16 {
	predictions := make([]uint16, len(s))
	for i, row := range s {
		predictions[i] = uint16(slices.Index(row, slices.Max(row)))
	}
	return predictions
}

// LogLoss is the mean softmax log-loss, Eq. (train_obj2) without its penalty, in nats.
func (s Scores) LogLoss(labels []uint16) float64 {
	sum := 0.0
	for i, logs := range s.LogProbabilities() {
		sum -= logs[labels[i]]
	}
	return sum / float64(len(s))
}

// LogProbabilities are the logarithms of the softmax of each row [N, Y], in nats.
func (s Scores) LogProbabilities() (all [][]float64) {
	for _, row := range s {
		var logs []float64
		for _, score := range row {
			logs = append(logs, float64(score))
		}
		floats.AddConst(-floats.LogSumExp(logs), logs)
		all = append(all, logs)
	}
	return all
}
