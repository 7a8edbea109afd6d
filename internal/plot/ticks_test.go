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
		{-3, 3, []string{"-3", "-2", "-1", "0", "1", "2", "3"}},
		{0.01, 0.31, []string{"0.05", "0.1", "0.15", "0.2", "0.25", "0.3"}},
		{-0.2, 0.3, []string{"-0.2", "-0.1", "0", "0.1", "0.2", "0.3"}},
		{5, 5, nil},
	} {
		var labels []string
		for _, tick := range decimalTicks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, c.labels, labels)
	}
}

// An axis shorter than 1 has ticks between the integers.
func TestShortIntegerTicks(t *testing.T) {
	require.Equal(t, decimalTicks(0, 0.3), integerTicks(0, 0.3))
	require.Greater(t, len(integerTicks(0, 0.3)), 2)
	require.Len(t, integerTicks(1, 2), 2)
}
