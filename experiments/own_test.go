package experiments_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
)

func TestOwnName(t *testing.T) {
	for folder, name := range map[string]string{
		"flowers": "own-flowers", "My Flowers, 2026!": "own-my-flowers-2026", "…": "own-pictures",
		"": "own-pictures", "mnist": "own-mnist", "a--b": "own-a-b",
	} {
		require.Equal(t, name, experiments.OwnName(folder))
		require.True(t, experiments.Own(name))
		require.Zero(t, experiments.NamedImages(name), "no declared data set has such a name")
	}
	for _, images := range experiments.DataSets {
		require.False(t, experiments.Own(images.Name))
	}
}

// On one's own pictures the table's networks have their size and classes, and else what they have:
// layers, hyperparameters, bases. Large images are whitened only where --set asks for it.
func TestStudyOnOwnPictures(t *testing.T) {
	table, err := catalogue.All.Study("table")
	require.NoError(t, err)
	quick, err := experiments.FindProfile("quick")
	require.NoError(t, err)
	before := planStudy(t, table, "quick", experiments.Overrides{})
	set := experiments.Dataset{Name: "own-flowers", Train: 500, Test: 100}
	for _, c := range []struct {
		side, channels, classes int
		set, preprocessing      string
	}{
		{16, 1, 2, "", experiments.ZCA}, {32, 3, 300, "", experiments.ZCA},
		{64, 3, 17, "", experiments.GCN},
		{64, 1, 17, "", experiments.GCN}, {64, 3, 17, "preprocessing=zca", experiments.ZCA},
		{64, 3, 17, "preprocessing=raw", experiments.Raw},
	} {
		images := experiments.Images{Height: c.side, Width: c.side, Channels: c.channels,
			Classes: make([]string, c.classes)}
		runs, err := experiments.Plan(table.On(images), quick, set, experiments.Overrides{Set: c.set})
		require.NoError(t, err)
		require.Len(t, runs, len(before))
		for i, run := range runs {
			n := run.Network
			require.Equal(t, []int{c.side, c.side, c.channels, c.classes},
				[]int{n.Height, n.Width, n.Channels, n.Classes})
			require.Equal(t, before[i].Network.Layers, n.Layers)
			require.Equal(t, c.preprocessing, run.Hyper.Preprocessing)
			run.Hyper.Preprocessing = before[i].Hyper.Preprocessing
			require.Equal(t, before[i].Hyper, run.Hyper)
			require.False(t, run.Decoded)
		}
	}
	again := planStudy(t, table, "quick", experiments.Overrides{})
	require.Equal(t, before, again, "the declared study stays as it is")
	for _, e := range table.On(experiments.Images{}).Experiments {
		require.Zero(t, e.Paper)
	}

	// Memory grows with the classes where codes depend on them, and no faster than they do.
	memory := func(experiment, classes int) float64 {
		runs, err := experiments.Plan(table.On(experiments.Images{Height: 32, Width: 32, Channels: 3,
			Classes: make([]string, classes)}), quick, set, experiments.Overrides{Seeds: 1})
		require.NoError(t, err)
		return runs[experiment].Memory()
	}
	require.InEpsilon(t, memory(3, 10), memory(3, 100), 0.01, "a linear classifier")
	require.Greater(t, memory(4, 100), 2*memory(4, 10))
	require.Less(t, memory(4, 100), 10*memory(4, 10))
}
