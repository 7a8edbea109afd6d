package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Classifier turns codes into class scores.
type Classifier string

const (
	// Linear is LC: a 1×1 convolution of the top code to the classes, averaged over the positions.
	Linear Classifier = "LC"
	// EnergySum is EBC: the sum of the energies of all class-specific blocks, Eqs. (energy_fn), (train_obj2), times
	// ParamEnergyScale.
	EnergySum Classifier = "EBC"
	// EnergyTop is the energy of the top block alone, in place of the sum.
	EnergyTop Classifier = "EBC-top"
)

// linear returns the scores [N, Y] of LC from the top code.
func linear(scope *model.Scope, top code, classes int) *Node {
	g := top.values.Graph()
	top = newDropout(scope, g).apply(top)
	// Averaging first is the same, as both are linear, and cheaper.
	pooled := ReduceMean(top.values, 1, 2)
	scale := model.GetParamOr(scope, ParamClassifierScale, 1.0) / top.unit
	weights := classifierVariable(scope, pooled.DType(), pooled.Shape().Dim(-1), classes, scale)
	learn(scope, weights, g, scale, false)
	return Dot(pooled, weights.NodeValue(g)).Product()
}

// energy returns the energies [N, Y] that EBC tells the classes apart by, from those of the layers.
func (c Classifier) energy(energies []*Node) *Node {
	if c == EnergyTop {
		for classEnergy(energies[1:]) != nil { // blocks below the top one
			energies = energies[1:]
		}
	}
	return classEnergy(energies)
}

// classEnergy is E_y = Σ_ℓ ‖z̃_{ℓ,y}‖₂ [N, Y] over the blocks that depend on the hypothesis, nil if none does.
func classEnergy(energies []*Node) *Node {
	var sum *Node
	for _, energy := range energies {
		if energy == nil || energy.Rank() < 2 {
			continue
		}
		if sum == nil {
			sum = energy
		} else {
			sum = Add(sum, energy)
		}
	}
	return sum
}
