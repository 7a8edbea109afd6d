package ebssc

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Ascent is the joint energy [N, Y] after the bottom-up pass and after every single block's update of `sweeps` sweeps, each
// computed from the codes anew.
func Ascent(n Network, scope *model.Scope, images *Node, sweeps int) (energies []*Node) {
	s := n.climb(scope, images)
	energies = append(energies, s.joint(n.Classes))
	for range sweeps {
		for i := range s.levels {
			s.update(i)
			energies = append(energies, s.joint(n.Classes))
		}
	}
	return energies
}

// joint is the joint energy [N, Y] of the codes as they stand.
func (s *stack) joint(classes int) (sum *Node) {
	for i, l := range s.levels {
		if i > 0 {
			l.look(s.levels[i-1].code)
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

// TopDown is r of the block above the first one, and the gradient of that block's energy by the first one's code, which r
// must be. Both are shaped as the code.
func TopDown(n Network, scope *model.Scope, images *Node) (r, gradient *Node) {
	s := n.climb(scope, images)
	below, above := s.levels[0], s.levels[1]
	place := below.code
	place.values = Identity(StopGradient(place.values))
	above.code.values = StopGradient(above.code.values)
	above.look(place)
	gradient = Gradient(ReduceAllSum(above.energy()), place.values)[0]
	return above.topDown(below.code), gradient
}

// AtOnce is how many hypotheses a network infers at a time, of a batch of float32 images.
func AtOnce(n Network, batch int) int { return n.atOnce(batch, 4) }
