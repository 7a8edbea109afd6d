package ops

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// kept returns which entries of a tensor of these dimensions Dropout keeps, as 1 and 0.
func kept(on compute.Backend, key []uint32, rate float64, dims ...int) (mask []float64) {
	ones := tensors.FromScalarAndDimensions(float32(1), dims...)
	dropped := func(x, key *Node) *Node { return Dropout(x, key, rate) }
	for _, value := range values(MustExecOnce(on, dropped, ones, key)) {
		mask = append(mask, float64(value)*(1-rate))
	}
	return mask
}

// The right share is kept, and entries are independent of their neighbours along each axis, of
// other entries at the distance of a power of two, and of the same entry under another key, near or
// far: all within five standard errors.
func TestDropoutStatistics(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		const rate = 0.3
		dims := []int{64, 16, 16, 24}
		mask := kept(on, []uint32{3, 5}, rate, dims...)
		size := len(mask)
		for _, value := range mask {
			require.True(t, value == 0 || math.Abs(value-1) < 1e-6)
		}
		deviation := math.Sqrt(rate * (1 - rate))
		require.InDelta(t, 1-rate, stat.Mean(mask, nil), 5*deviation/math.Sqrt(float64(size)))

		requireIndependent := func(a, b []float64, about any) {
			var covariance float64
			for i := range a {
				covariance += (a[i] - (1 - rate)) * (b[i] - (1 - rate))
			}
			require.InDelta(t, 0, covariance/float64(len(a)),
				5*deviation*deviation/math.Sqrt(float64(len(a))), about)
		}
		for _, distance := range []int{1, 2, 3, 4, 8, 16, 24, 32, 24 * 16, 1024, 24 * 16 * 16, 1 << 16} {
			requireIndependent(mask[distance:], mask[:size-distance], distance)
		}
		for _, key := range [][]uint32{{3, 6}, {4, 5}, {5, 3}, {3 | 1<<31, 5}, {0, 0}} {
			requireIndependent(mask, kept(on, key, rate, dims...), key)
		}
		require.Equal(t, mask, kept(on, []uint32{3, 5}, rate, dims...), "the same key drops the same")
	})
}

// The gradient passes where the entry was kept, with the same factor.
func TestDropoutGradient(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		results := MustExecOnceN(on, func(x, key *Node) []*Node {
			y := Dropout(x, key, 0.25)
			return append(Gradient(ReduceAllSum(y), x), y)
		}, tensors.FromScalarAndDimensions(float32(3), 100), []uint32{1, 2})
		gradient, y := values(results[0]), values(results[1])
		require.Contains(t, y, float32(0))
		require.Contains(t, y, float32(4))
		for i := range y {
			require.Equal(t, y[i]/3, gradient[i])
		}
	})
}

// Along shared axes all entries are dropped together, along the others not.
func TestDropoutShared(t *testing.T) {
	eachBackend(t, func(t *testing.T, on compute.Backend) {
		const images, hypotheses, size = 5, 3, 40
		x := tensors.FromScalarAndDimensions(float32(1), images, hypotheses, size)
		mask := values(MustExecOnce(on, func(x, key *Node) *Node { return Dropout(x, key, 0.5, 1) }, x,
			[]uint32{1, 2}))
		rows := map[string]bool{}
		for image := range images {
			first := mask[image*hypotheses*size:][:size]
			rows[fmt.Sprint(first)] = true
			for hypothesis := range hypotheses {
				require.Equal(t, first, mask[(image*hypotheses+hypothesis)*size:][:size])
			}
		}
		require.Len(t, rows, images)
	})
}
