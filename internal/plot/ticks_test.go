package plot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecimalTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		labels    []string
	}{
		{-3, 3, []string{"−3", "−2", "−1", "0", "1", "2", "3"}},
		{0.01, 0.31, []string{"0.05", "0.1", "0.15", "0.2", "0.25", "0.3"}},
		{-0.2, 0.3, []string{"−0.2", "−0.1", "0", "0.1", "0.2", "0.3"}},
		{5, 5, nil},
	} {
		var labels []string
		for _, tick := range decimalTicks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, c.labels, labels)
	}
}

// A logarithmic axis has ticks at 1, 2 and 5 times powers of ten, and decimal ones where there are not two of them.
func TestLogTicks(t *testing.T) {
	require.Len(t, logTicks(0.01, 1), 7)
	require.Equal(t, decimalTicks(2.1, 4.9), logTicks(2.1, 4.9))
}
