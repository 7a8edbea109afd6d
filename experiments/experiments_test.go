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

// Every declared row can be planned at every profile, has a name of its own and the paper's numbers.
func TestDeclarations(t *testing.T) {
	names := map[string]bool{}
	for _, row := range experiments.Table {
		require.False(t, names[row.Name], row.Name)
		names[row.Name] = true
		require.NotZero(t, row.Paper.TestErr, row.Name)
		count, err := row.Network(experiments.PaperWidth).Count()
		require.NoError(t, err)
		millions, err := strconv.ParseFloat(strings.TrimSuffix(row.Paper.Params, "M"), 64)
		require.NoError(t, err)
		require.InDelta(t, millions*1e6, count.Dictionary+count.Classifier, 0.05e6, "%s is not what the paper rounds", row.Name)
		for _, profile := range experiments.Profiles {
			runs, err := experiments.Plan(row, profile, cifar, "xla-cpu", nil, 0)
			require.NoError(t, err)
			require.Len(t, runs, profile.Seeds)
		}
	}
}

// A run's ID is its own: it changes with everything that decides the result, and survives being written and read.
func TestIDs(t *testing.T) {
	plan := func(row int, change func(*experiments.Profile), backend string, settings experiments.Settings, heldOut int) experiments.Run {
		profile := experiments.Profiles[1]
		change(&profile)
		runs, err := experiments.Plan(experiments.Table[row], profile, cifar, backend, settings, heldOut)
		require.NoError(t, err)
		return runs[0]
	}
	same := func(*experiments.Profile) {}
	runs := []experiments.Run{
		plan(0, same, "go", nil, 0),
		plan(1, same, "go", nil, 0),
		plan(0, same, "xla-cpu", nil, 0),
		plan(0, func(p *experiments.Profile) { p.Epochs++ }, "go", nil, 0),
		plan(0, func(p *experiments.Profile) { p.Width++ }, "go", nil, 0),
		plan(0, func(p *experiments.Profile) { p.TrainImages = 100 }, "go", nil, 0),
		plan(0, same, "go", experiments.Settings{ebssc.ParamBeta: 0.01}, 0),
		plan(0, same, "go", nil, 5000),
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
	profile := experiments.Profiles[2]
	runs, err := experiments.Plan(experiments.Table[0], profile, cifar, "go", nil, 5000)
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
	rows, err := experiments.Find(experiments.Table, []string{"ssc-ebc67", "relu-lc7"})
	require.NoError(t, err)
	require.Equal(t, "relu-lc7", rows[0].Name)
	require.Equal(t, "ssc-ebc67", rows[1].Name)
	_, err = experiments.Find(experiments.Table, []string{"vgg"})
	require.ErrorContains(t, err, `unknown experiment "vgg": choose from relu-lc7`)
}
