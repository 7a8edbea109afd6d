package stats

import (
	"cmp"
	"slices"
)

// Holm corrects p values (Holm, 1979) for the size of the family of comparisons that they belong to, at least their number: the chance that
// even one of those below a level is below it by chance alone is at most that level.
func Holm(values []float64, family int) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	corrected, largest := make([]float64, len(values)), 0.0
	for rank, i := range order {
		largest = max(largest, min(1, float64(family-rank)*values[i]))
		corrected[i] = largest
	}
	return corrected
}
