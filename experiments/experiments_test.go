package experiments_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

var cifar = experiments.Dataset{Name: "cifar10", SHA256: "00", Train: 50000, Test: 10000}

// rowNamed is the declared row of that name, wherever it stands in the table.
func rowNamed(t *testing.T, name string) experiments.Row {
	rows, err := experiments.Find(experiments.Table, []string{name})
	require.NoError(t, err)
	return rows[0]
}

// profileNamed is the declared profile of that name.
func profileNamed(t *testing.T, name string) experiments.Profile {
	profile, err := experiments.FindProfile(name)
	require.NoError(t, err)
	return profile
}

// Every declared row can be planned at every profile, has a name of its own, and if the paper has it, the paper's
// number of parameters.
func TestDeclarations(t *testing.T) {
	names := map[string]bool{}
	for _, row := range experiments.Table {
		require.False(t, names[row.Name], row.Name)
		names[row.Name] = true
		if row.Paper != (experiments.Paper{}) {
			require.NotZero(t, row.Paper.TestErr, row.Name)
			count, err := row.Network(experiments.PaperWidth).Count()
			require.NoError(t, err)
			millions, err := strconv.ParseFloat(strings.TrimSuffix(row.Paper.Params, "M"), 64)
			require.NoError(t, err)
			require.InDelta(t, millions*1e6, count.Dictionary+count.Classifier, 0.05e6, "%s is not what the paper rounds", row.Name)
		}
		for _, profile := range experiments.Profiles {
			runs, err := experiments.Plan(row, profile, cifar, "xla-cpu", nil, 0)
			require.NoError(t, err)
			require.Len(t, runs, profile.Seeds)
		}
	}
}

// A run's ID is its own: it changes with everything that decides the result, and survives being written and read.
func TestIDs(t *testing.T) {
	plan := func(row string, change func(*experiments.Profile), backend string, settings experiments.Settings, heldOut int) experiments.Run {
		profile := profileNamed(t, "quick")
		change(&profile)
		runs, err := experiments.Plan(rowNamed(t, row), profile, cifar, backend, settings, heldOut)
		require.NoError(t, err)
		return runs[0]
	}
	same := func(*experiments.Profile) {}
	runs := []experiments.Run{
		plan("relu-lc7", same, "go", nil, 0),
		plan("crelu-lc7", same, "go", nil, 0),
		plan("relu-lc7", same, "xla-cpu", nil, 0),
		plan("relu-lc7", func(p *experiments.Profile) { p.Epochs++ }, "go", nil, 0),
		plan("relu-lc7", func(p *experiments.Profile) { p.Width++ }, "go", nil, 0),
		plan("relu-lc7", func(p *experiments.Profile) { p.TrainImages = 100 }, "go", nil, 0),
		plan("relu-lc7", same, "go", experiments.Settings{ebssc.ParamBeta: 0.01}, 0),
		plan("relu-lc7", same, "go", nil, 5000),
	}
	other := runs[0]
	other.Seed = 2
	ids := map[string]bool{}
	for _, run := range append(runs, other) {
		id, err := run.ID()
		require.NoError(t, err)
		require.False(t, ids[id], "%s twice", id)
		ids[id] = true

		text, err := json.Marshal(run)
		require.NoError(t, err)
		var read experiments.Run
		require.NoError(t, json.Unmarshal(text, &read))
		require.Equal(t, run, read)
	}
}

// Held-out images are never trained on.
func TestHeldOut(t *testing.T) {
	runs, err := experiments.Plan(rowNamed(t, "relu-lc7"), profileNamed(t, "paper"), cifar, "go", nil, 5000)
	require.NoError(t, err)
	require.Equal(t, 45000, runs[0].TrainImages)
	require.Equal(t, 5000, runs[0].TestImages)
}

func TestParseSettings(t *testing.T) {
	settings, err := experiments.ParseSettings("beta=0.01;batch_size=1_000;plain_ops=true")
	require.NoError(t, err)
	require.Equal(t, experiments.Settings{ebssc.ParamBeta: 0.01, experiments.ParamBatch: 1000, ebssc.ParamPlainOps: true}, settings)
	for _, bad := range []string{"beat=1", "beta", "beta=x", "batch_size=1.5"} {
		_, err := experiments.ParseSettings(bad)
		require.ErrorContains(t, err, "--set", bad)
	}
}

func TestFind(t *testing.T) {
	all := []experiments.Row{{Name: "first"}, {Name: "second"}, {Name: "third"}}
	rows, err := experiments.Find(all, []string{"third", "first"})
	require.NoError(t, err)
	require.Equal(t, []experiments.Row{all[0], all[2]}, rows)
	rows, err = experiments.Find(all, nil)
	require.NoError(t, err)
	require.Equal(t, all, rows)
	_, err = experiments.Find(all, []string{"vgg"})
	require.ErrorContains(t, err, `unknown experiment "vgg": choose from first, second, third`)
}
