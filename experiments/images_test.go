package experiments_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
)

// Each name of a data set and each fingerprint is of one declaration. A folder of results has one
// committed copy of a kind, and what stands in has a name for that.
func TestDataSetsAreDeclaredOnce(t *testing.T) {
	names, sums := map[string]bool{}, map[string]bool{}
	form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	sha256 := regexp.MustCompile(`^[0-9a-f]{64}$`)
	named := func(kind experiments.DataKind, name string, genuine, standsIn bool) {
		require.Regexp(t, form, name)
		require.False(t, names[name], "%s is two data sets", name)
		names[name] = true
		says := experiments.NamedImages(name)
		require.Equal(t, []any{kind, genuine, standsIn},
			[]any{says.Kind, says.Genuine, says.StandsIn}, name)
		require.Contains(t, says.Title, string(kind))
		require.Equal(t, genuine, kind.Has(name))
	}
	for _, images := range experiments.DataSets {
		require.Equal(t, images, images.Kind.Images(), "%s is declared once", images.Kind)
		require.Equal(t, images.Name, images.Copies[0].Name, "the authors' bytes are the first")
		require.Equal(t, images.Kind.Declared(),
			experiments.Dataset{Name: images.Name, Train: images.Train, Test: images.Test})
		require.NotEmpty(t, images.From)
		committed := 0
		for _, c := range images.Copies {
			named(images.Kind, c.Name, true, false)
			require.Regexp(t, sha256, c.SHA256)
			require.False(t, sums[c.SHA256], "%s has another's fingerprint", c.Name)
			sums[c.SHA256] = true
			if c.Committed {
				committed++
			}
		}
		require.Equal(t, 1, committed, images.Kind)
		named(images.Kind, images.Unknown(), false, false)
		if images.Padded != "" {
			named(images.Kind, images.Padded, false, true)
			named(images.Kind, images.Padded+"-unknown", false, true)
		}
		if images.StandIn != "" {
			require.NotEmpty(t, images.StandIn.Images().Padded, "of what stands in for %s", images.Kind)
		}
	}
	require.Zero(t, experiments.NamedImages("another"), "nothing is known of other names")
	require.Zero(t, experiments.NamedImages(""))
	require.False(t, experiments.CIFAR10.Has("mnist"))
	require.Equal(t, "MNIST (unknown copy, padded to 32×32×3)",
		experiments.NamedImages("mnist32-unknown").Title)
}
