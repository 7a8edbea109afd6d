package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Ascent is the joint energy [N, Y] after the bottom-up pass and after every block's update in
// `sweeps` sweeps, each recomputed from the codes.
func Ascent(n Network, scope *model.Scope, h Hyper, images *Node, sweeps int) (energies []*Node) {
	s := n.bottomUp(scope, h, images)
	energies = append(energies, s.jointEnergy(n.Classes))
	for range sweeps {
		for i := range s.levels {
			s.update(i)
			energies = append(energies, s.jointEnergy(n.Classes))
		}
	}
	return energies
}

// jointEnergy is the joint energy [N, Y] of the current codes.
func (s *stack) jointEnergy(classes int) (sum *Node) {
	for i, l := range s.levels {
		if i > 0 {
			l.computeDrive(s.levels[i-1].code)
		}
		energy := l.energy()
		if energy.Rank() == 1 {
			energy = BroadcastToDims(InsertAxes(energy, 1), energy.Shape().Dim(0), classes)
		}
		if sum == nil {
			sum = energy
		} else {
			sum = Add(sum, energy)
		}
	}
	return sum
}

// TopDown returns r of the second block, and the gradient of that block's energy with respect to
// the first block's code, which r must equal. Both are shaped as the code.
func TopDown(n Network, scope *model.Scope, h Hyper, images *Node) (r, gradient *Node) {
	s := n.bottomUp(scope, h, images)
	below, above := s.levels[0], s.levels[1]
	z := Identity(StopGradient(below.code))
	above.code = StopGradient(above.code)
	above.computeDrive(z)
	gradient = Gradient(ReduceAllSum(above.energy()), z)[0]
	return above.backProject(above.code, below.code), gradient
}

// Drive is u = d ⋆ x + b of a block, by the fast operations.
func (b Block) Drive(x, dictionary, offset *Node) *Node {
	l := level{block: b, dictionary: dictionary, offset: offset}
	l.block.Coding.Rectified = true // not [u, −u]
	l.computeDrive(x)
	return l.drive
}

// NormalizeRectified is Normalize of the positive part of v, as blocks compute it.
func NormalizeRectified(v *Node, batchAxes int) (code, norm *Node) {
	return normalizeRectified(v, batchAxes)
}

// Fast says whether the model uses the fast kernels in a graph.
func Fast(g *Graph) bool { return !implementation(g).Plain }

// WithoutThresholds is the network with all thresholds zero.
func (n Network) WithoutThresholds() Network { return n.withoutThresholds() }
