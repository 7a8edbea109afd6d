package experiments_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "ebsscgo/ablations" // declares more of them
	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

var cifar = experiments.Dataset{Name: "cifar10", SHA256: "00", Train: 50000, Test: 10000}

// rowNamed is the declared row of that name, wherever it stands in the table.
func rowNamed(t *testing.T, name string) experiments.Experiment {
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
	for _, study := range experiments.Studies {
		for _, e := range study.Experiments {
			require.False(t, names[e.Name], e.Name)
			names[e.Name] = true
			if e.Base != "" {
				_, err := experiments.Find(study.Experiments, []string{e.Base})
				require.NoError(t, err, "%s is compared within its study, which is of one scale", e.Name)
			}
		}
	}
	for _, row := range experiments.All(experiments.Studies) {
		if row.Paper.Params != "" {
			require.NotZero(t, row.Paper.TestErr, row.Name)
			count, err := row.Network(experiments.PaperWidth).Count()
			require.NoError(t, err)
			millions, err := strconv.ParseFloat(strings.TrimSuffix(row.Paper.Params, "M"), 64)
			require.NoError(t, err)
			require.InDelta(t, millions*1e6, count.Dictionary+count.Classifier, 0.05e6, "%s is not what the paper rounds", row.Name)
		}
	}
	for _, study := range experiments.Studies {
		for _, profile := range experiments.Profiles {
			for _, e := range study.Experiments {
				runs, err := experiments.Plan(e, profile.Name, profile.Scale(study), cifar, experiments.Machine{Backend: "xla-cpu"}, nil, 0)
				require.NoError(t, err)
				require.Len(t, runs, profile.Scale(study).Seeds)
				require.Empty(t, runs[0].Changed(), "%s differs from its own declaration", e.Name)
			}
		}
	}
}

// Runs that were recorded must be found again: an option that a run does not ask for leaves its ID as it was before there were any.
func TestIDsStay(t *testing.T) {
	for row, want := range map[string]string{
		"crelu-lc7": "crelu-lc7-1-5584a9e0e5", "ssc-ebc67": "ssc-ebc67-1-19bb988d68", "unroll-2": "unroll-2-1-eb08b71217",
	} {
		study, e, ok := experiments.StudyOf(row)
		require.True(t, ok)
		plan := func(settings experiments.Settings) (experiments.Run, string) {
			runs, err := experiments.Plan(e, "quick", profileNamed(t, "quick").Scale(study), cifar, experiments.Machine{Backend: "xla-cpu"}, settings, 0)
			require.NoError(t, err)
			id, err := runs[0].ID()
			require.NoError(t, err)
			return runs[0], id
		}
		_, id := plan(nil)
		require.Equal(t, want, id)
		_, id = plan(experiments.Options)
		require.Equal(t, want, id)
		asked := experiments.Settings{ebssc.ParamBFloat16: true, ebssc.ParamHypotheses: 5}
		run, id := plan(asked)
		require.NotEqual(t, want, id)
		require.Equal(t, asked, run.Changed())
	}
}

// A run's ID is its own: it changes with everything that decides the result, and survives being written and read.
func TestIDs(t *testing.T) {
	plan := func(row string, change func(*experiments.Scale), backend string, settings experiments.Settings, heldOut int) experiments.Run {
		scale := profileNamed(t, "quick").Table
		change(&scale)
		runs, err := experiments.Plan(rowNamed(t, row), "quick", scale, cifar, experiments.Machine{Backend: backend}, settings, heldOut)
		require.NoError(t, err)
		return runs[0]
	}
	same := func(*experiments.Scale) {}
	runs := []experiments.Run{
		plan("relu-lc7", same, "go", nil, 0),
		plan("crelu-lc7", same, "go", nil, 0),
		plan("relu-lc7", same, "xla-cpu", nil, 0),
		plan("relu-lc7", func(p *experiments.Scale) { p.Epochs++ }, "go", nil, 0),
		plan("relu-lc7", func(p *experiments.Scale) { p.Width++ }, "go", nil, 0),
		plan("relu-lc7", func(p *experiments.Scale) { p.TrainImages = 100 }, "go", nil, 0),
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

// One device is the run that it was before there could be several; several make another run, with operations that they can share.
func TestDevices(t *testing.T) {
	plan := func(devices int, settings experiments.Settings) (run experiments.Run, id, text string) {
		machine := experiments.Machine{Backend: "xla-cpu", Devices: devices}
		runs, err := experiments.Plan(rowNamed(t, "relu-lc7"), "quick", profileNamed(t, "quick").Table, cifar, machine, settings, 0)
		require.NoError(t, err)
		id, err = runs[0].ID()
		require.NoError(t, err)
		description, err := json.Marshal(runs[0])
		require.NoError(t, err)
		return runs[0], id, string(description)
	}
	unsaid, unsaidID, text := plan(0, nil)
	require.NotContains(t, text, "Devices")
	_, oneID, _ := plan(1, nil)
	require.Equal(t, unsaidID, oneID)
	require.Equal(t, false, unsaid.Settings[ebssc.ParamPlainOps])

	two, twoID, _ := plan(2, nil)
	require.NotEqual(t, oneID, twoID)
	require.Equal(t, "xla-cpu, 2 devices", two.Machine().String())
	require.Equal(t, true, two.Settings[ebssc.ParamPlainOps])
	require.Empty(t, two.Changed())
	fast, _, _ := plan(2, experiments.Settings{ebssc.ParamPlainOps: false})
	require.Equal(t, experiments.Settings{ebssc.ParamPlainOps: false}, fast.Changed())
}

// Held-out images are never trained on.
func TestHeldOut(t *testing.T) {
	runs, err := experiments.Plan(rowNamed(t, "relu-lc7"), "paper", profileNamed(t, "paper").Table, cifar, experiments.Machine{Backend: "go"}, nil, 5000)
	require.NoError(t, err)
	require.Equal(t, 45000, runs[0].TrainImages)
	require.Equal(t, 5000, runs[0].TestImages)
}

func TestParseSettings(t *testing.T) {
	settings, err := experiments.ParseSettings("beta=0.01;batch_size=1_000;plain_ops=true;bfloat16=true")
	require.NoError(t, err)
	require.Equal(t, experiments.Settings{
		ebssc.ParamBeta: 0.01, experiments.ParamBatch: 1000, ebssc.ParamPlainOps: true, ebssc.ParamBFloat16: true,
	}, settings)
	for _, bad := range []string{"beat=1", "beta", "beta=x", "batch_size=1.5"} {
		_, err := experiments.ParseSettings(bad)
		require.ErrorContains(t, err, "--set", bad)
	}
}

func TestFind(t *testing.T) {
	all := []experiments.Experiment{{Name: "first"}, {Name: "second"}, {Name: "third"}}
	rows, err := experiments.Find(all, []string{"third", "first"})
	require.NoError(t, err)
	require.Equal(t, []experiments.Experiment{all[0], all[2]}, rows)
	rows, err = experiments.Find(all, nil)
	require.NoError(t, err)
	require.Equal(t, all, rows)
	_, err = experiments.Find(all, []string{"vgg"})
	require.ErrorContains(t, err, `unknown experiment "vgg": choose from first, second, third`)
}
