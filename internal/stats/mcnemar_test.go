package stats_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/internal/stats"
)

// rightAndWrong are the predictions of a model before and after, and the labels: on so many images the second is right
// where the first was wrong, the reverse, both are right, and both are wrong.
func rightAndWrong(fixed, broken, right, wrong int) (before, after, labels string) {
	labels = strings.Repeat("1", fixed+broken+right+wrong)
	before = strings.Repeat("0", fixed) + strings.Repeat("1", broken+right) + strings.Repeat("2", wrong)
	after = strings.Repeat("1", fixed) + strings.Repeat("0", broken) + strings.Repeat("1", right) + strings.Repeat("3", wrong)
	return before, after, labels
}

func TestMcNemarByHand(t *testing.T) {
	for _, c := range []struct {
		fixed, broken int
		p             float64
	}{
		{0, 0, 1},
		{1, 0, 1},       // 2·1/2
		{5, 0, 0.0625},  // 2·1/32
		{6, 0, 0.03125}, // 2·1/64
		{0, 6, 0.03125},
		{8, 2, 0.109375},    // 2·(1+10+45)/1024
		{9, 1, 0.021484375}, // 2·(1+10)/1024
		{1, 9, 0.021484375},
		{5, 5, 1}, // would be more than 1
		{6, 5, 1}, // 2·1/2
	} {
		before, after, labels := rightAndWrong(c.fixed, c.broken, 3, 4)
		test, err := stats.McNemar([]string{before}, []string{after}, labels)
		require.NoError(t, err)
		require.Equal(t, []int{c.fixed, c.broken}, []int{test.Fixed, test.Broken})
		require.InEpsilon(t, c.p, test.P, 1e-3, "%d against %d", c.fixed, c.broken)
	}
}

// The p value is a sum of binomial coefficients, here in exact arithmetic.
func TestMcNemarIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fixed, broken := rapid.IntRange(0, 400).Draw(t, "fixed"), rapid.IntRange(0, 400).Draw(t, "broken")
		before, after, labels := rightAndWrong(fixed, broken, 1, 1)
		test, err := stats.McNemar([]string{before}, []string{after}, labels)
		require.NoError(t, err)
		n, sum := int64(fixed+broken), new(big.Int)
		for k := range int64(min(fixed, broken)) + 1 {
			sum.Add(sum, new(big.Int).Binomial(n, k))
		}
		p, _ := new(big.Rat).SetFrac(sum.Lsh(sum, 1), new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
		require.InEpsilon(t, min(1, p), test.P, 1e-9)
	})
}

// Which group is called the first changes nothing but the direction, nor does the order of models in a group.
func TestMcNemarIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		images, models := rapid.IntRange(1, 30).Draw(t, "images"), rapid.IntRange(1, 4).Draw(t, "models")
		digits := rapid.StringOfN(rapid.RuneFrom([]rune("012")), images, images, -1)
		group := rapid.SliceOfN(digits, models, models)
		before, after, labels := group.Draw(t, "before"), group.Draw(t, "after"), digits.Draw(t, "labels")
		forth, err := stats.McNemar(before, after, labels)
		require.NoError(t, err)
		back, err := stats.McNemar(after, append(before[1:], before[0]), labels)
		require.NoError(t, err)
		require.Equal(t, stats.Paired{Fixed: back.Broken, Broken: back.Fixed, P: back.P}, forth)
		same, err := stats.McNemar(after, after, labels)
		require.NoError(t, err)
		require.Equal(t, stats.Paired{P: 1}, same)
	})
}

// Of several seeds an image counts where fewer of them err, however many fewer, and once.
func TestMcNemarOfSeeds(t *testing.T) {
	test, err := stats.McNemar([]string{"0000", "0011", "0010"}, []string{"1110", "1011", "1000"}, "1111")
	require.NoError(t, err)
	// Errors before: 3, 3, 1, 2; after: 0, 2, 1, 2.
	require.Equal(t, 2, test.Fixed)
	require.Zero(t, test.Broken)
	require.Equal(t, 0.5, test.P)
}

func TestMcNemarRefuses(t *testing.T) {
	_, err := stats.McNemar([]string{"01"}, []string{"01", "01"}, "01")
	require.ErrorContains(t, err, "2 models against 1")
	_, err = stats.McNemar(nil, nil, "01")
	require.Error(t, err)
	for _, short := range [][2]string{{"0", "01"}, {"01", "0"}} {
		_, err = stats.McNemar([]string{short[0]}, []string{short[1]}, "01")
		require.ErrorContains(t, err, "1 predictions of 2 images")
	}
}
