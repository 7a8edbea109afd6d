package experiments_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/ablations"
	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

// suite holds all declared studies.
var suite = slices.Concat(experiments.Studies, ablations.Studies)

var (
	cifar = experiments.Dataset{Name: "cifar10", SHA256: "00", Train: 50000, Test: 10000}
	cpu   = experiments.Machine{Backend: "xla-cpu", Devices: 1}
)

// plan returns the run with seed 1 of an experiment at profile quick.
func plan(t *testing.T, experiment string, machine experiments.Machine, o experiments.Overrides) experiments.Run {
	study, e, err := suite.Experiment(experiment)
	require.NoError(t, err)
	profile, err := experiments.FindProfile("quick")
	require.NoError(t, err)
	o.Seeds = 1
	runs, err := experiments.Plan(e, "quick", profile.Scale(study), cifar, machine, o)
	require.NoError(t, err)
	return runs[0]
}

// Every declared experiment has a unique name, can be planned at every profile, and, if the paper has it, has the paper's number
// of parameters.
func TestDeclarations(t *testing.T) {
	names := map[string]bool{}
	for _, e := range suite.Experiments() {
		require.False(t, names[e.Name], e.Name)
		names[e.Name] = true
		if e.Paper.Params == "" {
			continue
		}
		require.NotZero(t, e.Paper.TestErr, e.Name)
		count, err := e.Network(experiments.PaperWidth).Count()
		require.NoError(t, err)
		millions, err := strconv.ParseFloat(strings.TrimSuffix(e.Paper.Params, "M"), 64)
		require.NoError(t, err)
		require.InDelta(t, millions*1e6, count.Dictionary+count.Classifier, 0.05e6, "%s does not have the paper's number", e.Name)
	}
	for _, study := range suite {
		for _, profile := range experiments.Profiles {
			for _, e := range study.Experiments {
				runs, err := experiments.Plan(e, profile.Name, profile.Scale(study), cifar, cpu, experiments.Overrides{})
				require.NoError(t, err)
				require.Len(t, runs, profile.Scale(study).Seeds)
				require.Empty(t, suite.Differences(runs[0]), "%s differs from its own declaration", e.Name)
			}
		}
	}
}

// A mistake in a declaration is one line that names the study.
func TestSuiteValidate(t *testing.T) {
	require.NoError(t, suite.Validate())
	study := experiments.Study{Name: "mine", Images: experiments.CIFAR10, Report: experiments.Rows, Experiments: experiments.Table[:2]}
	decodings := experiments.Study{Name: "mine", Images: experiments.CIFAR10, Report: experiments.Decodings, Experiments: experiments.Table[:2]}
	require.NoError(t, experiments.Suite{study}.Validate())
	twice, base, claim, block := study, study, study, decodings
	twice.Experiments = append(twice.Experiments[:1:1], study.Experiments[0])
	base.Experiments = []experiments.Experiment{{Name: "a", Base: "b", Architecture: experiments.SevenBlocks{Body: ebssc.SSC}}}
	claim.Claims = []experiments.Claim{{Name: "c", Expect: []experiments.Expectation{experiments.Lower(experiments.TestErr, "crelu-lc7", "vgg")}}}
	expects := func(e experiments.Expectation) []experiments.Claim {
		return []experiments.Claim{{Name: "c", Expect: []experiments.Expectation{e}}}
	}
	block.Claims = expects(experiments.Expectation{Quantity: experiments.Cosine, Subject: experiments.Source{Experiment: "crelu-lc7", Block: "pool1"}})
	whole, part, misspelt, order, untraced, grid := decodings, study, study, study, study, study
	rows, word, empty, images, report := study, study, study, study, study
	rows.Claims = expects(experiments.Expectation{Quantity: experiments.Cosine, Subject: experiments.Source{Experiment: "crelu-lc7", Block: "conv1"}})
	word.Grid = experiments.Grid{{Setting: "optimizer", Values: []any{"adam"}}}
	empty.Experiments, images.Images, report.Report = nil, "cifar100", ""
	whole.Claims = expects(experiments.Expectation{Quantity: experiments.Cosine, Subject: experiments.Source{Experiment: "crelu-lc7"}})
	part.Claims = expects(experiments.Expectation{Quantity: experiments.TestErr, Subject: experiments.Source{Experiment: "crelu-lc7", Block: "conv1"}})
	misspelt.Claims = expects(experiments.Expectation{Quantity: "test eror", Subject: experiments.Source{Experiment: "crelu-lc7"}})
	order.Claims = expects(experiments.Between(experiments.TestErr, "crelu-lc7", "relu-lc7", 1, 0))
	untraced.Report = experiments.Sweeps
	grid.Grid = experiments.Grid{{Setting: "learning_rate", Values: []any{1}}}
	nothing, nobody, half := study, study, decodings
	nothing.Claims = []experiments.Claim{{Name: "c"}}
	nobody.Claims = []experiments.Claim{{Name: "c", Expect: []experiments.Expectation{{Quantity: experiments.TestErr, Baseline: experiments.Source{Experiment: "crelu-lc7"}}}}}
	half.Claims = []experiments.Claim{{Name: "c", Expect: []experiments.Expectation{
		{Quantity: experiments.Cosine, Subject: experiments.Source{Experiment: "crelu-lc7", Block: "conv1"}, Baseline: experiments.Source{Experiment: "relu-lc7"}},
	}}}
	reference, sweeps, again, across := study, study, study, study
	reference.Reference = slices.Clone(experiments.Table[2:4])
	reference.Reference[0].Base = ""
	require.NoError(t, experiments.Suite{reference}.Validate())
	sweeps = decodings // not traced rows, which are refused earlier
	sweeps.Reference = reference.Reference
	again.Reference = study.Experiments[:1]
	across.Reference = experiments.Table[2:3] // its base is one of the study's own
	named := func(name, base string, ebc int) experiments.Study {
		study := study
		study.Experiments = []experiments.Experiment{{Name: name, Base: base, Architecture: experiments.SevenBlocks{Body: ebssc.SSC, EBC: ebc}}}
		return study
	}
	require.NoError(t, experiments.Suite{named("sn-ebc7-beta-0.01", "", 7)}.Validate())
	setting, bare, digits := named("a", "", 7), named("a", "", 7), named("a", "", 7)
	setting.Experiments[0].Settings = experiments.Settings{"learning_rte": 0.1}
	bare.Experiments[0].Architecture = nil
	digits.Images = experiments.MNIST
	for name, bad := range map[string]experiments.Study{
		"setting": setting, "bare": bare, "digits": digits,
		"whole": whole, "part": part, "misspelt": misspelt, "order": order, "untraced": untraced, "grid": grid,
		"slash": named("sn/ebc7", "", 7), "dots": named("..", "", 7), "capitals": named("SN-EBC", "", 7), "no name": named("", "", 7),
		"own base": named("a", "a", 0), "no block": named("a", "", -3), "block 8": named("a", "", 8),
		"sweeps": sweeps, "again": again, "across": across,
		"rows": rows, "word": word, "empty": empty, "images": images, "report": report,
		"twice": twice, "base": base, "claim": claim, "block": block, "nothing": nothing, "nobody": nobody, "half": half,
	} {
		err := experiments.Suite{bad}.Validate()
		require.ErrorContains(t, err, "study mine: ", name)
		require.NotContains(t, err.Error(), "\n", name)
	}
	for _, name := range []string{"all", "claims", "my study", "../x", ""} {
		other := study
		other.Name = name
		require.ErrorContains(t, experiments.Suite{other}.Validate(), "choose another name")
	}
	require.ErrorContains(t, experiments.Suite{sweeps}.Validate(), "reference rows")
	require.ErrorContains(t, experiments.Suite{study, study}.Validate(), "study mine is declared twice")
	other := study
	other.Name = "other"
	require.ErrorContains(t, experiments.Suite{study, other}.Validate(), "relu-lc7 is declared in study mine, too")
}

// An ID changes with everything that decides the result, and survives being written and read.
func TestIDs(t *testing.T) {
	runs := []experiments.Run{
		plan(t, "relu-lc7", cpu, experiments.Overrides{}),
		plan(t, "crelu-lc7", cpu, experiments.Overrides{}),
		plan(t, "relu-lc7", experiments.Machine{Backend: "go"}, experiments.Overrides{}),
		plan(t, "relu-lc7", experiments.Machine{Backend: "xla-cpu", Devices: 2}, experiments.Overrides{}),
		plan(t, "relu-lc7", cpu, experiments.Overrides{Epochs: 9}),
		plan(t, "relu-lc7", cpu, experiments.Overrides{Width: 9}),
		plan(t, "relu-lc7", cpu, experiments.Overrides{Images: 100}),
		plan(t, "relu-lc7", cpu, experiments.Overrides{HeldOut: 5000}),
		plan(t, "relu-lc7", cpu, experiments.Overrides{Settings: experiments.Settings{ebssc.ParamBeta: 0.01}}),
	}
	other := runs[0]
	other.Seed = 2
	ids := map[string]bool{}
	for _, run := range append(runs, other) {
		require.False(t, ids[run.ID()], "%s twice", run.ID())
		ids[run.ID()] = true
		text, err := json.Marshal(run)
		require.NoError(t, err)
		var read experiments.Run
		require.NoError(t, json.Unmarshal(text, &read))
		require.Equal(t, run, read)
	}
}

// A record from before a setting was added has none of it: it keeps its ID, and is read with the value that all runs had then.
func TestLaterSettings(t *testing.T) {
	run := plan(t, "crelu-lc7", cpu, experiments.Overrides{})
	with := run.ID()
	run.Settings = run.Settings.With(experiments.Settings{experiments.ParamMuonDecay: 0.0})
	require.NotEqual(t, with, run.ID())
	text, err := json.Marshal(run)
	require.NoError(t, err)
	require.NotContains(t, string(text), experiments.ParamMuonDecay)
	var read experiments.Run
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, run, read)
	require.Equal(t, run.ID(), read.ID())
	require.Equal(t, []string{"muon_decay=0"}, suite.Differences(read))
}

// A run that changes its profile is a trial, and says in what.
func TestDifferences(t *testing.T) {
	for want, o := range map[string]experiments.Overrides{
		"":                         {Seeds: 3},
		"width=9":                  {Width: 9},
		"images=100":               {Images: 100},
		"epochs=2":                 {Epochs: 2},
		"held_out=5000":            {HeldOut: 5000},
		"beta=0.01 plain_ops=true": {Settings: experiments.Settings{ebssc.ParamBeta: 0.01, ebssc.ParamPlainOps: true}},
	} {
		require.Equal(t, want, strings.Join(suite.Differences(plan(t, "ssc-lc7", cpu, o)), " "))
	}
	run := plan(t, "ssc-lc7", cpu, experiments.Overrides{})
	run.Version = 1
	require.Equal(t, []string{"version=1"}, suite.Differences(run))
	run = plan(t, "ssc-lc7", cpu, experiments.Overrides{})
	run.Network.Sweeps = 1
	require.Len(t, suite.Differences(run), 1)
	run.Experiment = "vgg"
	require.Len(t, suite.Differences(run), 1)
}

// A run's command plans the same run.
func TestCommand(t *testing.T) {
	for want, o := range map[string]experiments.Overrides{
		"--backend cpu":                                   {},
		"--width 9 --backend cpu":                         {Width: 9},
		"--images 100 --backend cpu":                      {Images: 100},
		"--epochs 2 --held-out 5000 --backend cpu":        {Epochs: 2, HeldOut: 5000},
		`--set "beta=0.01;plain_ops=true" --backend cpu`:  {Settings: experiments.Settings{ebssc.ParamBeta: 0.01, ebssc.ParamPlainOps: true}},
		`--set "learning_rate=1e-05" --backend cpu`:       {Settings: experiments.Settings{experiments.ParamLearningRate: 1e-5}},
		`--width 96 --set "muon_decay=0.3" --backend cpu`: {Width: 96, Settings: experiments.Settings{experiments.ParamMuonDecay: 0.3}},
		`--set "optimizer=adam;warm_up=0" --backend cpu`:  {Settings: experiments.Settings{experiments.ParamOptimizer: experiments.Adam, experiments.ParamWarmUp: 0.0}},
	} {
		require.Equal(t, "ebssc run table --only ssc-lc7 --profile quick "+want, suite.Command(plan(t, "ssc-lc7", cpu, o)))
		if _, set, ok := strings.Cut(want, `--set "`); ok {
			set, _, _ = strings.Cut(set, `"`)
			settings, err := experiments.ParseSettings(set)
			require.NoError(t, err)
			require.Equal(t, o.Settings, settings)
		}
	}
	third := plan(t, "ssc-lc7", cpu, experiments.Overrides{})
	third.Seed = 3
	require.Equal(t, "ebssc run table --only ssc-lc7 --profile quick --seeds 3 --backend cpu", suite.Command(third))
	run := plan(t, "ssc-lc7", experiments.Machine{Backend: "xla-cuda", Devices: 2}, experiments.Overrides{})
	require.Contains(t, suite.Command(run), "--backend cuda --devices 2")
	for _, change := range []func(*experiments.Run){
		func(r *experiments.Run) { r.Version = 1 },
		func(r *experiments.Run) { r.Experiment = "vgg" },
		func(r *experiments.Run) { r.Profile = "huge" },
		func(r *experiments.Run) { r.Network.Sweeps = 1 },
		func(r *experiments.Run) { r.TestImages-- },
		func(r *experiments.Run) { r.Machine.Backend = "xla" },
	} {
		run := plan(t, "ssc-lc7", cpu, experiments.Overrides{})
		change(&run)
		require.Empty(t, suite.Command(run), "no command plans it")
	}
}

// Several devices make another run, with operations that they can share.
func TestDevices(t *testing.T) {
	two := experiments.Machine{Backend: "xla-cpu", Devices: 2}
	require.Equal(t, "xla-cpu, 2 devices", two.String())
	run := plan(t, "relu-lc7", two, experiments.Overrides{})
	require.Equal(t, true, run.Settings[ebssc.ParamPlainOps])
	require.Empty(t, suite.Differences(run))
	require.Equal(t, false, plan(t, "relu-lc7", cpu, experiments.Overrides{}).Settings[ebssc.ParamPlainOps])
}

// What was chosen for an experiment replaces its settings, but not at the points of a grid, and the command line replaces both.
func TestChosen(t *testing.T) {
	_, e, err := suite.Experiment("unroll-0")
	require.NoError(t, err)
	e.Chosen = experiments.Settings{experiments.ParamLearningRate: 0.01}
	rate := func(e experiments.Experiment, o experiments.Overrides) any {
		runs, err := experiments.Plan(e, "quick", experiments.Scale{Width: 4, Epochs: 1, Seeds: 1}, experiments.Dataset{Train: 1000, Test: 10}, cpu, o)
		require.NoError(t, err)
		return runs[0].Settings[experiments.ParamLearningRate]
	}
	require.Equal(t, 0.01, rate(e, experiments.Overrides{}))
	require.Equal(t, e.Settings[experiments.ParamLearningRate], rate(e.AtGrid(), experiments.Overrides{}))
	require.Equal(t, 0.5, rate(e, experiments.Overrides{Settings: experiments.Settings{experiments.ParamLearningRate: 0.5}}))
}

// Held-out images are never trained on.
func TestHeldOut(t *testing.T) {
	run := plan(t, "relu-lc7", cpu, experiments.Overrides{HeldOut: 5000})
	require.Equal(t, 45000, run.TrainImages)
	require.Equal(t, 5000, run.TestImages)
}

// Overrides that no run can have are refused before anything is planned: a number of seeds in the billions would fill the memory.
func TestBadOverrides(t *testing.T) {
	_, e, err := suite.Experiment("relu-lc7")
	require.NoError(t, err)
	profile, err := experiments.FindProfile("quick")
	require.NoError(t, err)
	for _, o := range []experiments.Overrides{
		{Seeds: 2_000_000_000}, {Seeds: -1}, {Width: -1}, {Epochs: -1}, {HeldOut: -1}, {Images: -1}, {HeldOut: 50_000}, {HeldOut: 60_000},
		{Width: 1 << 30}, {Images: 10}, {Images: 50_001}, {Images: 45_001, HeldOut: 5000}, {Settings: experiments.Settings{ebssc.ParamBeta: -1.0}},
		{Settings: experiments.Settings{experiments.ParamOptimizer: "sgd"}}, {Settings: experiments.Settings{experiments.ParamOptimizer: 1}},
		{Settings: experiments.Settings{"dropuot_rate": 0.1}}, {Settings: experiments.Settings{experiments.ParamBatch: 64.0}},
		{Settings: experiments.Settings{experiments.ParamWhiten: 1}},
		{Settings: experiments.Settings{experiments.ParamMuonRate: -0.01}}, {Settings: experiments.Settings{experiments.ParamWarmUp: 1.0}},
	} {
		_, err := experiments.Plan(e, "quick", profile.Table, cifar, cpu, o)
		require.Error(t, err, "%+v", o)
	}
}

func TestParseSettings(t *testing.T) {
	settings, err := experiments.ParseSettings("beta=0.01;batch_size=1_000;plain_ops=true;bfloat16=true;optimizer=adam")
	require.NoError(t, err)
	require.Equal(t, experiments.Settings{
		ebssc.ParamBeta: 0.01, experiments.ParamBatch: 1000, ebssc.ParamPlainOps: true, ebssc.ParamBFloat16: true,
		experiments.ParamOptimizer: experiments.Adam,
	}, settings)
	for _, text := range []string{"beta=.5", "beta=+0.5", "beta=5e-1", "beta=0_0.5"} {
		settings, err := experiments.ParseSettings(text)
		require.NoError(t, err)
		require.Equal(t, experiments.Settings{ebssc.ParamBeta: 0.5}, settings)
	}
	for _, bad := range []string{"beat=1", "beta", "beta=x", "batch_size=1.5", "beta=1;beta=2", "file:/dev/zero", "file:/nowhere"} {
		_, err := experiments.ParseSettings(bad)
		require.ErrorContains(t, err, "--set", bad)
	}
	file := filepath.Join(t.TempDir(), "settings")
	for text, want := range map[string]string{
		"# mine\nbeta=0.02\n": "", "beta=0.02; \n\n": "", "conv1/beta=-5": "unknown setting", "beta = 0.02": "unknown setting",
		"beta=0.02\nfile:" + file: "names another file",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		settings, err := experiments.ParseSettings("file:" + file)
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, experiments.Settings{ebssc.ParamBeta: 0.02}, settings)
	}
}

func TestSuite(t *testing.T) {
	chosen, err := suite.Only([]string{"unroll-1", "ssc-lc7", "relu-lc7"})
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	require.Equal(t, "relu-lc7", chosen[0].Experiments[0].Name)
	require.Equal(t, "ssc-lc7", chosen[0].Experiments[1].Name)
	all, err := suite.Only(nil)
	require.NoError(t, err)
	require.Equal(t, suite, all)
	_, err = suite.Only([]string{"vgg"})
	require.ErrorContains(t, err, `unknown experiment "vgg": choose from relu-lc7, `)
	_, err = suite.Study("vgg")
	require.ErrorContains(t, err, `unknown study "vgg": choose from table, `)
}
