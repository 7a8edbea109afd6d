package stats_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/internal/stats"
)

func TestSamples(t *testing.T) {
	require.Equal(t, stats.Sample{Mean: 2, Std: 1, N: 3}, stats.SampleOf([]float64{1, 2, 3}))
	one := stats.SampleOf([]float64{2})
	require.True(t, one.Mean == 2 && math.IsNaN(one.Std) && one.N == 1)
	none := stats.SampleOf(nil)
	require.True(t, math.IsNaN(none.Mean) && math.IsNaN(none.Std) && none.N == 0)
}

// By hand: two steps of three seeds have sums of squares 2 and 6, so that s² = 8/4 of a difference
// of two rows. The quantile of Student's t at 4 degrees of freedom is 2.776445.
func TestPool(t *testing.T) {
	b := []float64{-1, 0, 4}
	pool := []stats.Sum{{[]float64{1, 2, 3}, 2}, {[]float64{0, 0, 3}, 2},
		{[]float64{7}, 2}} // the last says nothing of the variance
	e := stats.Sum{b, 2}.Estimate(pool...)
	require.Equal(t, []float64{1, 4, 3}, []float64{e.Value, e.Degrees, float64(e.N)})
	require.InDelta(t, math.Sqrt(2.0/3), e.Error, 1e-12)
	low, high := e.Interval()
	require.InDelta(t, 1-2.776445*math.Sqrt(2.0/3), low, 1e-6)
	require.InDelta(t, 1+2.776445*math.Sqrt(2.0/3), high, 1e-6)
	require.InDelta(t, math.Sqrt(3)*e.Error, stats.Sum{b, 6}.Estimate(pool...).Error, 1e-12,
		"a contrast of weights 2, −1, −1")
}

// One seed has no interval, nor has a pool without deviations.
func TestNoInterval(t *testing.T) {
	sum := func(values ...float64) stats.Sum {
		return stats.Sum{Values: values, SquaredWeights: 2}
	}
	for _, e := range []stats.Estimate{sum(1).Estimate(sum(1, 2)), sum(1, 2).Estimate(),
		sum(1, 1).Estimate(sum(1, 1)),
		stats.Welch(stats.SampleOf([]float64{1}), stats.SampleOf([]float64{1, 2})),
		stats.Welch(stats.Sample{N: 3}, stats.Sample{Mean: 1, N: 3})} {
		require.False(t, e.Known())
		low, high := e.Interval()
		require.True(t, math.IsNaN(low) && math.IsNaN(high))
	}
	two := sum(3, 4).Estimate(sum(1, 2))
	require.True(t, two.Known(), "two seeds have one")
}

// By hand, on four images. Two seeds that differ by 25 points on one image each, another one, agree
// by chance: 10,000 squares of 3 degrees of freedom are left, of which the mean has an eighth.
// Where they differ on the same image nothing is left, and the four images have a variance of 2500.
func TestImages(t *testing.T) {
	e := stats.Estimate{Value: 25, Error: 10, Degrees: 4, N: 2}
	chance, alike := stats.ByImage{{100, 0, 0, 0}, {0, 100, 0, 0}},
		stats.ByImage{{100, 0, 0, 0}, {100, 0, 0, 0}}
	these, others := e.OverImages(chance)
	require.InDelta(t, math.Sqrt(10_000.0/3/8), these.Error, 1e-9)
	require.Equal(t, these, others, "no image is easier than another")
	these, both := e.OverImages(alike)
	require.Equal(t, e, these)
	require.InDelta(t, math.Sqrt(100+2500.0/4), both.Error, 1e-9)
	require.InDelta(t, 725*725/(100*100/4.0+625*625/3.0), both.Degrees, 1e-9)
	exact := stats.Estimate{Value: 25, Degrees: 4, N: 2} // all steps of the pool are equal
	these, _ = exact.OverImages(chance)
	require.InDelta(t, math.Sqrt(10_000.0/3/8), these.Error, 1e-9)
	single := stats.Estimate{Value: 25, N: 1}
	these, one := single.OverImages(alike[:1])
	require.Equal(t, single, these, "of one seed nothing is known")
	require.InDelta(t, 25, one.Error, 1e-9, "over images alone")
	require.Equal(t, 3.0, one.Degrees)
	these, others = e.OverImages(nil)
	require.Equal(t, []stats.Estimate{e, e}, []stats.Estimate{these, others})
}

// Whatever seeds and images do: an estimate for other images is never more certain than one for
// these.
func TestOtherImagesAreLessCertain(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		seeds, images := rapid.IntRange(1, 4).Draw(draw, "seeds"),
			rapid.IntRange(2, 9).Draw(draw, "images")
		var x stats.ByImage
		for range seeds {
			x = append(x, rapid.SliceOfN(rapid.SampledFrom([]float64{-100, 0, 100}), images,
				images).Draw(draw, "seed"))
		}
		e := stats.Estimate{Error: 1, Degrees: 3, N: seeds}
		these, others := e.OverImages(x)
		require.GreaterOrEqual(draw, these.Error, e.Error)
		require.GreaterOrEqual(draw, others.Error, these.Error)
	})
}

// One-sided tests, from a table of t: 5 % lie beyond 2.919986 of two degrees of freedom.
func TestOneSided(t *testing.T) {
	e := stats.Estimate{Value: 1, Error: 0.5, Degrees: 2, N: 3}
	require.InDelta(t, 0.05, e.Above(1-2.919986*0.5), 1e-6)
	require.InDelta(t, 0.05, e.Below(1+2.919986*0.5), 1e-6)
	require.InDelta(t, 1, e.Above(0.3)+e.Below(0.3), 1e-12)
}

// Equal sizes and deviations have 2 (N − 1) degrees of freedom, one that does not deviate leaves
// the other's. Unequal ones: 4.571 degrees, whose quantile was integrated numerically. The interval
// turns around with A and B.
func TestWelch(t *testing.T) {
	for name, c := range map[string]struct {
		a, b stats.Sample
		half float64
	}{
		"alike": {stats.Sample{Mean: 10, Std: 1, N: 3}, stats.Sample{Mean: 13, Std: 1, N: 3},
			2.776445 * math.Sqrt(2.0/3)},
		"one": {stats.Sample{Mean: 10, Std: 1, N: 3}, stats.Sample{Mean: 13, Std: 0, N: 5},
			4.302653 / math.Sqrt(3)},
		"not": {stats.Sample{Mean: 10, Std: 1, N: 3}, stats.Sample{Mean: 13, Std: 2, N: 4}, 3.053936},
	} {
		low, high := stats.Welch(c.a, c.b).Interval()
		require.InDelta(t, 3-c.half, low, 1e-5, name)
		require.InDelta(t, 3+c.half, high, 1e-5, name)
		back, forth := stats.Welch(c.b, c.a).Interval()
		require.Equal(t, []float64{-high, -low}, []float64{back, forth}, name)
	}
}

// The paper's own differences, each over its 10,000 test images.
func TestProportions(t *testing.T) {
	for _, c := range []struct{ base, subject, half float64 }{{11.40, 10.17, 0.86},
		{10.17, 9.74, 0.83}, {9.74, 9.77, 0.82}, {9.77, 9.23, 0.81}} {
		require.InDelta(t, c.half, 100*stats.Proportions(c.subject/100, c.base/100, 10_000), 0.005)
	}
}

// Holm's own steps: the smallest value times their number, the next times one less, and never less
// than the one before.
func TestHolm(t *testing.T) {
	require.InDeltaSlice(t, []float64{0.03, 0.06, 0.06, 0.02},
		stats.Holm([]float64{0.01, 0.04, 0.03, 0.005}), 1e-12)
	require.Empty(t, stats.Holm(nil))
	rapid.Check(t, func(draw *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 12).Draw(draw, "values")
		for i, corrected := range stats.Holm(values) {
			require.GreaterOrEqual(draw, corrected, values[i])
			require.LessOrEqual(draw, corrected, min(1, float64(len(values))*values[i]), "Bonferroni")
		}
	})
}
