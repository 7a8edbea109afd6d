package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Classifier computes class scores from codes or their energies.
type Classifier string

const (
	// Linear is LC: a 1×1 convolution of the top code to Y channels, averaged over the positions.
	Linear Classifier = "LC"
	// EnergySum is EBC: the sum of the energies of all class-specific blocks, Eqs. (energy_fn), (train_obj2), minus its mean
	// over the classes, times ParamEnergyScale.
	EnergySum Classifier = "EBC"
	// EnergyTop scores by the energy of the top block instead of the sum.
	EnergyTop Classifier = "EBC-top"
)

// linear returns the scores [N, Y] of LC from the top code.
//
// The weights that meet a unit-norm code of n entries are near √n, several hundred times a dictionary's, and so are their steps.
// The variable is the weights over that factor: beside numbers of its own size float32 would round a small step away.
func linear(scope *model.Scope, top code, classes int) *Node {
	g := top.values.Graph()
	top = newDropout(scope, g).apply(top)
	// Both steps are linear: averaging first gives the same scores at less cost.
	pooled := ReduceMean(top.values, 1, 2)
	weights := classifierVariable(scope, pooled.DType(), pooled.Shape().Dim(-1), classes)
	scale := model.GetParamOr(scope, ParamClassifierScale, 1.0) / top.rms
	return Dot(MulScalar(pooled, scale), weights.NodeValue(g)).Product()
}

// energy returns the class energies [N, Y] of EBC from the energies of the layers.
func (c Classifier) energy(energies []*Node) *Node {
	if c == EnergyTop {
		for classEnergy(energies[1:]) != nil { // drop the blocks below the top one
			energies = energies[1:]
		}
	}
	return classEnergy(energies)
}

// classEnergy is E_y = Σ_ℓ ‖z̃_{ℓ,y}‖₂ [N, Y] over the class-specific blocks; nil if no block is class-specific.
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
