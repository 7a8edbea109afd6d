package stats_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/stats"
)

// statsmodels 0.15.0: multipletests(p, method="holm")[1].
func TestHolm(t *testing.T) {
	require.InDeltaSlice(t, []float64{0.005, 0.09, 0.09, 0.2, 0.02}, stats.Holm([]float64{0.001, 0.04, 0.03, 0.2, 0.005}, 5), 1e-12)
	require.InDeltaSlice(t, []float64{0.005, 0.02}, stats.Holm([]float64{0.001, 0.005}, 5), 1e-12, "three of the five are not measured: they may come last")
	require.Equal(t, []float64{1, 1}, stats.Holm([]float64{0.7, 0.9}, 2))
	require.Empty(t, stats.Holm(nil, 0))
}
