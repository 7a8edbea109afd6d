package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/stats"
)

// The number of seeds that would decide a comparison does so in about four cases of five, if what was measured is true, whatever the numbers
// of seeds that it was measured with.
func TestSeedsToDecide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(mean, std float64, seeds int) stats.Sample {
		values := make([]float64, seeds)
		for i := range values {
			values[i] = mean + std*rng.NormFloat64()
		}
		return stats.SampleOf(values)
	}
	for _, c := range []struct{ a, b stats.Sample }{
		{stats.Sample{Mean: 30, Std: 1, N: 3}, stats.Sample{Mean: 27.5, Std: 0.1, N: 3}}, // 2 degrees of freedom, not 4
		{stats.Sample{Mean: 30, Std: 1, N: 5}, stats.Sample{Mean: 28, Std: 0.8, N: 3}},
		{stats.Sample{Mean: 30, Std: 0.4, N: 5}, stats.Sample{Mean: 28.7, Std: 0.1, N: 3}},
		{stats.Sample{Mean: 30, Std: 0.1, N: 5}, stats.Sample{Mean: 28.7, Std: 0.4, N: 3}},
	} {
		seeds, ok := stats.Welch(c.a, c.b).SeedsToDecide(math.Abs(-1-(c.b.Mean-c.a.Mean)), stats.Significance)
		require.True(t, ok)
		require.Greater(t, seeds, 3)
		decided := 0
		for range 4000 {
			if stats.Welch(draw(c.a.Mean, c.a.Std, seeds), draw(c.b.Mean, c.b.Std, seeds)).Interval().High < -1 {
				decided++
			}
		}
		require.InDelta(t, 0.85, float64(decided)/4000, 0.07, "of %d seeds: %+v", seeds, c)
	}
	_, ok := stats.Welch(stats.Sample{Mean: 1, Std: 1, N: 3}, stats.Sample{Mean: 1, Std: 1, N: 3}).SeedsToDecide(1e-3, 0.05)
	require.False(t, ok, "more seeds than are tried")
}

// A pooled deviation has the degrees of freedom of all its rows, until rows have seeds of their own. SciPy 1.17.1:
//
//	rows = [[30.0, 30.4, 29.7], [28.1, 28.9, 28.2], [27.0, 27.9]]
//	df = 5; s2 = sum(np.var(x, ddof=1) * (len(x) - 1) for x in rows) / df; se = np.sqrt(2 * s2)
//	stats.t.interval(.95, df, loc=-1.5, scale=se); 2 * stats.t.sf(.5 / se, df)
func TestPool(t *testing.T) {
	var pool stats.Pool
	require.False(t, pool.Known())
	for _, values := range [][]float64{{30, 30.4, 29.7}, {28.1, 28.9, 28.2}, {27, 27.9}, {40}} {
		pool.Add(stats.SampleOf(values))
	}
	e := pool.Difference(stats.SampleOf([]float64{13.4}), stats.SampleOf([]float64{11.9}))
	require.Equal(t, 5.0, e.Degrees)
	require.InDelta(t, -3.1513195759-(-1.5), e.Interval().Low-e.Value, 1e-6)
	require.InDelta(t, 0.4715, e.P(math.Inf(-1), -1), 1e-3)
	three, ok := e.SeedsToDecide(2, 0.05)
	require.True(t, ok)
	require.Less(t, three, 6)
}

// Rows whose variances differ are not pooled. SciPy: stats.bartlett([1, 2, 3.5], [2, 2.4, 2.9, 3.3], [7, 9]).pvalue, and of the test errors of
// unroll with 2 and 3 sweeps, whose deviations are 0.06 and 0.87.
func TestBartlett(t *testing.T) {
	var alike, apart stats.Pool
	for _, values := range [][]float64{{1, 2, 3.5}, {2, 2.4, 2.9, 3.3}, {7, 9}, {5}} {
		alike.Add(stats.SampleOf(values))
	}
	require.InDelta(t, 0.4735752053287443, alike.Bartlett(), 1e-9)
	require.True(t, alike.Known())
	for _, values := range [][]float64{{1.69, 1.8, 1.76}, {2.14, 3.85, 2.77}} {
		apart.Add(stats.SampleOf(values))
	}
	require.InDelta(t, 0.010356329513884247, apart.Bartlett(), 1e-9)
	require.False(t, apart.Known())
	alike.Add(stats.SampleOf([]float64{4, 4}))
	require.InDelta(t, 0.4735752053287443, alike.Bartlett(), 1e-9, "a tie says nothing")
	require.True(t, alike.Known())
	require.Equal(t, 7.0, alike.Degrees(), "but it counts in the pool")
	var one stats.Pool
	one.Add(stats.SampleOf([]float64{1, 2, 3}))
	require.Equal(t, 1.0, one.Bartlett())
}

// The median of an even number is the mean of the middle two; the values stay as they are.
func TestMedian(t *testing.T) {
	values := []float64{3, 1, 2, 10}
	require.Equal(t, 2.5, stats.Median(values))
	require.Equal(t, []float64{3, 1, 2, 10}, values)
	require.Equal(t, 2.0, stats.Median([]float64{3, 1, 2}))
	require.Equal(t, 7.0, stats.Median([]float64{7}))
}
