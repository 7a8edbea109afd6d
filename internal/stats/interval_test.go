package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"ebsscgo/internal/stats"
)

// Intervals that Newcombe printed (1998, Table II, method 10).
func TestNewcombe(t *testing.T) {
	for _, c := range []struct {
		wrongB, ofB, wrongA, ofA int
		low, high                float64
	}{
		{56, 70, 48, 80, 0.0524, 0.3339},
		{9, 10, 3, 10, 0.1705, 0.8090},
		{6, 7, 2, 7, 0.0582, 0.8062},
		{5, 56, 0, 29, -0.0381, 0.1926},
		{0, 10, 0, 20, -0.1611, 0.2775},
		{10, 10, 0, 20, 0.6791, 1},
	} {
		interval := stats.Newcombe(proportion(c.wrongA, c.ofA), proportion(c.wrongB, c.ofB))
		require.InDelta(t, c.low, interval.Low, 5e-5, "%+v", c)
		require.InDelta(t, c.high, interval.High, 5e-5, "%+v", c)
	}
	require.True(t, math.IsNaN(stats.Newcombe(proportion(1, 10), stats.Proportion{Rate: 0.1}).Low), "of how many images?")
}

func proportion(wrong, of int) stats.Proportion {
	return stats.Proportion{Rate: float64(wrong) / float64(of), Of: of}
}

// Where nothing differs, 95 of 100 intervals hold zero, and not many more: rates as of quick's table and as of its unroll study.
func TestNewcombeCovers(t *testing.T) {
	for _, rate := range []float64{0.34, 0.02} {
		wrong := distuv.Binomial{N: 10_000, P: rate, Src: rand.NewPCG(1, 2)}
		hold := 0
		for range 4000 {
			interval := stats.Newcombe(proportion(int(wrong.Rand()), 10_000), proportion(int(wrong.Rand()), 10_000))
			if interval.Low <= 0 && interval.High >= 0 {
				hold++
			}
		}
		require.InDelta(t, 0.95, float64(hold)/4000, 0.02, "rate %g", rate)
	}
}

// Equal sizes and deviations have 2 (N − 1) degrees of freedom, one that does not deviate leaves the other's: quantiles as in
// a t table. Unequal ones: 4.571 degrees, whose quantile was integrated numerically.
func TestWelch(t *testing.T) {
	for name, c := range map[string]struct {
		a, b stats.Sample
		half float64
	}{
		"alike":    {stats.Sample{Mean: 10, Std: 1, N: 3}, stats.Sample{Mean: 13, Std: 1, N: 3}, 2.776445 * math.Sqrt(2.0/3)},
		"one":      {stats.Sample{Mean: 10, Std: 1, N: 3}, stats.Sample{Mean: 13, Std: 0, N: 5}, 4.302653 / math.Sqrt(3)},
		"not":      {stats.Sample{Mean: 10, Std: 1, N: 3}, stats.Sample{Mean: 13, Std: 2, N: 4}, 3.053936},
		"reversed": {stats.Sample{Mean: 10, Std: 2, N: 4}, stats.Sample{Mean: 13, Std: 1, N: 3}, 3.053936},
	} {
		interval := stats.Welch(c.a, c.b).Interval()
		require.InDelta(t, 3-c.half, interval.Low, 1e-5, name)
		require.InDelta(t, 3+c.half, interval.High, 1e-5, name)
	}
	several := stats.Sample{Mean: 10, Std: 1, N: 3}
	for _, other := range []stats.Sample{{Mean: 11, Std: math.NaN(), N: 1}, {Mean: 11, Std: math.NaN(), N: 3}} {
		require.True(t, math.IsNaN(stats.Welch(several, other).Interval().Low), "%+v", other)
	}
	equal := stats.Sample{Mean: 10, Std: 0, N: 3}
	require.True(t, math.IsNaN(stats.Welch(equal, equal).Interval().Low), "nothing deviates")
}

// Both intervals hold the difference itself, and turn around with A and B.
func TestIntervalsTurnAround(t *testing.T) {
	sample := rapid.Custom(func(t *rapid.T) stats.Sample {
		return stats.Sample{Mean: rapid.Float64Range(0, 100).Draw(t, "mean"), Std: rapid.Float64Range(1e-3, 10).Draw(t, "std"),
			N: rapid.IntRange(2, 30).Draw(t, "n")}
	})
	rates := rapid.Custom(func(t *rapid.T) stats.Proportion {
		of := rapid.IntRange(1, 10_000).Draw(t, "of")
		return proportion(rapid.IntRange(0, of).Draw(t, "wrong"), of)
	})
	turned := func(t *rapid.T, there, back stats.Interval, difference float64) {
		require.Equal(t, there, stats.Interval{Low: -back.High, High: -back.Low})
		require.LessOrEqual(t, there.Low, difference)
		require.GreaterOrEqual(t, there.High, difference)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := sample.Draw(t, "a"), sample.Draw(t, "b")
		turned(t, stats.Welch(a, b).Interval(), stats.Welch(b, a).Interval(), b.Mean-a.Mean)
		p, q := rates.Draw(t, "p"), rates.Draw(t, "q")
		turned(t, stats.Newcombe(p, q), stats.Newcombe(q, p), q.Rate-p.Rate)
	})
}

// By hand: 10 images fixed and 4 broken of 100 are rates of 11/102 and 5/102.
func TestBonettPrice(t *testing.T) {
	interval := stats.BonettPrice(10, 4, 100)
	require.InDelta(t, -0.13483, interval.Low, 1e-4)
	require.InDelta(t, 0.01718, interval.High, 1e-4)
	require.True(t, math.IsNaN(stats.BonettPrice(0, 0, 0).Low), "of how many images?")
	same := stats.BonettPrice(0, 0, 10_000)
	require.Less(t, same.Low, 0.0)
	require.Greater(t, same.High, 0.0)
}

// At least 95 of 100 intervals hold the true difference of two models that err on many images together, whether few differ or
// many; not many more where they do not differ on a handful alone.
func TestBonettPriceCovers(t *testing.T) {
	const images, trials = 10_000, 4000
	for _, rates := range []struct{ fixed, broken float64 }{{0.11, 0.09}, {0.004, 0.002}, {0.0003, 0.0003}} {
		source := rand.NewPCG(1, 2)
		fixed := distuv.Binomial{N: images, P: rates.fixed, Src: source}
		hold := 0
		for range trials {
			f := fixed.Rand()
			broken := distuv.Binomial{N: images - f, P: rates.broken / (1 - rates.fixed), Src: source}
			interval := stats.BonettPrice(int(f), int(broken.Rand()), images)
			if truth := rates.broken - rates.fixed; interval.Low <= truth && truth <= interval.High {
				hold++
			}
		}
		require.Greater(t, float64(hold)/trials, 0.94, "%+v", rates)
		if rates.fixed > 0.001 {
			require.Less(t, float64(hold)/trials, 0.97, "%+v", rates)
		}
	}
}

// As in a t table: the mean of three values lies within 4.303 standard errors, that of very many within 1.96.
func TestStudent(t *testing.T) {
	interval := stats.Student(stats.Sample{Mean: 5, Std: 2, N: 3}).Interval()
	require.InDelta(t, 5-4.3027*2/math.Sqrt(3), interval.Low, 1e-3)
	require.InDelta(t, 5+4.3027*2/math.Sqrt(3), interval.High, 1e-3)
	require.InDelta(t, 1.96*2/1000, stats.Student(stats.Sample{Std: 2, N: 1_000_000}).Interval().High, 1e-5)
	require.True(t, math.IsNaN(stats.Student(stats.Sample{Mean: 5, N: 1}).Interval().Low))
}
