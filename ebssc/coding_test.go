package ebssc_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"ebsscgo/ebssc"
)

// drawSize draws the number of entries of a signal; few sizes, as a graph is compiled for each.
func drawSize(t *rapid.T) int { return rapid.SampledFrom([]int{1, 3, 12, 16}).Draw(t, "n") }

// shrinkage is Shrink as a function of vectors v, β⁺, β⁻.
func shrinkage() func(t require.TestingT, inputs ...[]float64) []float64 {
	return compute64(func(in []*Node) *Node { return ebssc.Shrink(in[0], in[1], in[2]) })
}

// drawShrinkage draws v and thresholds with −β⁻ ≤ β⁺.
func drawShrinkage(t *rapid.T) (v, plus, minus []float64) {
	n := drawSize(t)
	v = rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, "v")
	for range n {
		p := rapid.Float64Range(-1, 2).Draw(t, "β⁺")
		plus = append(plus, p)
		minus = append(minus, rapid.Float64Range(-p, 2).Draw(t, "β⁻"))
	}
	return v, plus, minus
}

// Eq. (asym_shrink): the three cases. Settled slip 4: the last one is v < −β⁻, and between −β⁻ and
// β⁺ the result is 0. Sec. 2.3.1: this is the proximal operator of |·|_asym; here against a search
// that knows no closed form.
func TestShrinkIsPiecewiseAndProximal(t *testing.T) {
	shrink := shrinkage()
	rapid.Check(t, func(t *rapid.T) {
		v, plus, minus := drawShrinkage(t)
		got := shrink(t, v, plus, minus)
		for i := range v {
			want := 0.0
			switch {
			case v[i]-plus[i] > 0:
				want = v[i] - plus[i]
			case v[i]+minus[i] < 0:
				want = v[i] + minus[i]
			}
			require.InDelta(t, want, got[i], 1e-12)
			objective := func(z float64) float64 {
				return (z-v[i])*(z-v[i])/2 + plus[i]*math.Max(z, 0) + minus[i]*math.Max(-z, 0)
			}
			lowest := math.Inf(1)
			for z := -6.0; z <= 6; z += 1e-2 {
				lowest = min(lowest, objective(z))
			}
			require.LessOrEqual(t, objective(got[i]), lowest+1e-12)
		}
	})
}

// Settled slip 1: thresholds ŵ ≥ 0 are parameters themselves, and both are subtracted from what the
// halves gain.
func TestSlip1ThresholdsAreParameters(t *testing.T) {
	energyFor := compute64(func(in []*Node) *Node {
		drive := ebssc.SplitDrive(ExpandAxes(in[0], 0))
		return ebssc.Energy(drive, ExpandAxes(in[1], 0), ExpandAxes(in[2], 0), 1)
	})
	rapid.Check(t, func(t *rapid.T) {
		n := drawSize(t)
		draw := func(name string, n int, low, high float64) []float64 {
			return rapid.SliceOfN(rapid.Float64Range(low, high), n, n).Draw(t, name)
		}
		u, thresholds, code := draw("u", n, -3, 3), draw("[ŵ⁺, ŵ⁻]", 2*n, 0, 2),
			draw("[z⁺, z⁻]", 2*n, 0, 1)
		want := 0.0
		for i := range u {
			want += (u[i]-thresholds[i])*code[i] + (-u[i]-thresholds[n+i])*code[n+i]
		}
		require.InDelta(t, want, energyFor(t, u, thresholds, code)[0], 1e-9)
	})
}

// Settled slip 2: with u = d ⋆ x + b, ŵ⁺ = β⁺ + b and ŵ⁻ = β⁻ − b give the code that β⁺ and β⁻ give
// for d ⋆ x.
func TestSlip2OffsetShiftsThresholds(t *testing.T) {
	shrink := shrinkage()
	// The dictionary is the identity: d ⋆ x = x.
	driven := compute64(func(in []*Node) *Node {
		n := in[0].Shape().Size()
		x := Reshape(in[0], 1, 1, 1, n)
		identity := Reshape(ConvertDType(Diagonal(in[0].Graph(), n), x.DType()), 1, 1, n, n)
		block := ebssc.Block{Filters: n, Kernel: 1, Stride: 1}
		return Reshape(block.Drive(x, identity, in[1]), n)
	})
	rapid.Check(t, func(t *rapid.T) {
		v, plus, minus := drawShrinkage(t)
		b := rapid.SliceOfN(rapid.Float64Range(-2, 2), len(v), len(v)).Draw(t, "b")
		shiftedPlus, shiftedMinus := floats.AddTo(make([]float64, len(v)), plus, b),
			floats.SubTo(make([]float64, len(v)), minus, b)
		u := driven(t, v, b)
		require.InDeltaSlice(t, shrink(t, v, plus, minus), shrink(t, u, shiftedPlus, shiftedMinus), 1e-12)
	})
}

// Settled slip 3: soft shrinkage is shrink_(β,β) and ReLU is shrink_(0,+∞).
func TestSlip3ShrinkSpecialCases(t *testing.T) {
	shrink := shrinkage()
	v := []float64{-2, -0.5, 0, 0.5, 2}
	constant := func(value float64) []float64 { return slices.Repeat([]float64{value}, len(v)) }
	require.InDeltaSlice(t, []float64{-1, 0, 0, 0, 1}, shrink(t, v, constant(1), constant(1)), 1e-12)
	require.InDeltaSlice(t, []float64{0, 0, 0, 0.5, 2},
		shrink(t, v, constant(0), constant(math.Inf(1))), 1e-12)
}

// The split code is the same shrinkage, with both halves kept: z⁺ − z⁻ = z̃, both halves ≥ 0.
func TestSplitCodeIsShrinkage(t *testing.T) {
	shrink := shrinkage()
	shrinkSplit := compute64(func(in []*Node) *Node {
		split := ebssc.ShrinkSplit(ebssc.SplitDrive(in[0]), Concatenate(in[1:], -1))
		return Concatenate([]*Node{split, ebssc.Signed(split)}, -1)
	})
	rapid.Check(t, func(t *rapid.T) {
		v, plus, minus := drawShrinkage(t)
		both := shrinkSplit(t, v, plus, minus)
		split, signed := both[:2*len(v)], both[2*len(v):]
		require.InDeltaSlice(t, shrink(t, v, plus, minus), signed, 1e-12)
		require.GreaterOrEqual(t, slices.Min(split), 0.0)
	})
}

// energyOf is E' of Eq. (energy_fn2), written out.
func energyOf(drive, thresholds, code []float64) float64 {
	return floats.Dot(drive, code) - floats.Dot(thresholds, code)
}

// drawProblem draws the drive [u, −u] and thresholds ŵ ≥ 0 of a coding problem.
func drawProblem(t *rapid.T) (drive, thresholds []float64) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	drive = normals(rng, drawSize(t))
	for _, value := range drive {
		drive = append(drive, -value)
	}
	scale := rapid.Float64Range(0, 1.5).Draw(t, "threshold")
	for range drive {
		thresholds = append(thresholds, scale*rng.Float64())
	}
	return drive, thresholds
}

// feasible projects onto {z ≥ 0, ‖z‖ ≤ 1}.
func feasible(code []float64) []float64 {
	for i := range code {
		code[i] = math.Max(code[i], 0)
	}
	floats.Scale(1/math.Max(1, floats.Norm(code, 2)), code)
	return code
}

// Appendix B: E(z*) = ‖z̃‖₂, also by Energy, no feasible code has more, and projected gradient
// ascent arrives at z*.
func TestClosedFormIsOptimal(t *testing.T) {
	optimal := compute64(func(in []*Node) *Node {
		code, norm := ebssc.Normalize(ebssc.ShrinkSplit(ExpandAxes(in[0], 0), ExpandAxes(in[1], 0)), 1)
		return Concatenate([]*Node{Reshape(code, -1), norm}, 0)
	})
	inBlocks := compute64(func(in []*Node) *Node {
		code, norm := ebssc.NormalizeRectified(ExpandAxes(Sub(in[0], in[1]), 0), 1)
		return Concatenate([]*Node{Reshape(code, -1), norm}, 0)
	})
	energy := compute64(func(in []*Node) *Node {
		return ebssc.Energy(ExpandAxes(in[0], 0), ExpandAxes(in[1], 0), ExpandAxes(in[2], 0), 1)
	})
	rapid.Check(t, func(t *rapid.T) {
		drive, thresholds := drawProblem(t)
		both := optimal(t, drive, thresholds)
		require.InDeltaSlice(t, both, inBlocks(t, drive, thresholds), 1e-12)
		want, norm := both[:len(drive)], both[len(drive)]
		require.InDelta(t, norm, energyOf(drive, thresholds, want), 1e-9)
		require.InDelta(t, norm, energy(t, drive, thresholds, want)[0], 1e-9)

		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "feasible codes"), 3))
		code := feasible(normals(rng, len(drive)))
		for range 1000 {
			require.LessOrEqual(t, energyOf(drive, thresholds, code), norm+1e-9)
			code = feasible(normals(rng, len(drive)))
		}
		if norm < 0.05 {
			return // an ascent to a nearly empty code needs more steps than the test takes
		}
		gain := floats.SubTo(make([]float64, len(drive)), drive, thresholds)
		for range 5000 {
			floats.AddScaled(code, 0.2, gain)
			code = feasible(code)
		}
		require.InDeltaSlice(t, want, code, 1e-4)
	})
}

// With two batch axes each hypothesis of each image is projected by itself: onto unit norm, or to
// zero if it is zero.
func TestNormalizeEachHypothesis(t *testing.T) {
	const images, hypotheses, positions = 2, 3, 2
	normalize := MustNewExec(xla, func(shrunk *Node) []*Node {
		code, norm := ebssc.Normalize(shrunk, 2)
		return []*Node{code, norm}
	})
	rapid.Check(t, func(t *rapid.T) {
		n := drawSize(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var shrunk, norms, want []float64
		for range images * hypotheses {
			slice := make([]float64, positions*n)
			if !rapid.Bool().Draw(t, "zero") {
				slice = normals(rng, positions*n)
			}
			norm := floats.Norm(slice, 2)
			norms, shrunk = append(norms, norm), append(shrunk, slice...)
			if norm > 0 {
				floats.Scale(1/norm, slice)
			}
			want = append(want, slice...)
		}
		input := tensors.FromFlatDataAndDimensions(shrunk, images, hypotheses, positions, n)
		outputs, err := normalize.Call(input)
		require.NoError(t, err)
		require.Equal(t, []int{images, hypotheses}, outputs[1].Shape().Dimensions)
		require.InDeltaSlice(t, norms, tensors.MustCopyFlatData[float64](outputs[1]), 1e-12)
		require.InDeltaSlice(t, want, tensors.MustCopyFlatData[float64](outputs[0]), 1e-12)
	})
}

// A code that is zero everywhere has a finite gradient, also without the rectification that hides
// it; so has its neighbour in the batch.
func TestZeroCodeHasFiniteGradient(t *testing.T) {
	var gradients [2][]float64
	for i, normalize := range []func(*Node, int) (code, norm *Node){
		ebssc.Normalize, ebssc.NormalizeRectified,
	} {
		gradients[i] = compute64(func(in []*Node) *Node {
			code, norm := normalize(Reshape(in[0], 2, 3), 1)
			return Gradient(Add(ReduceAllSum(norm), ReduceAllSum(code)), in[0])[0]
		})(t, []float64{0, 0, 0, 2, 3, 0})
		for j, value := range gradients[i] {
			require.False(t, math.IsNaN(value) || math.IsInf(value, 0), "gradient %d is %v", j, value)
		}
		require.NotZero(t, gradients[i][3])
	}
	require.InDeltaSlice(t, gradients[0][3:5], gradients[1][3:5], 1e-12) // the positive entries
}
