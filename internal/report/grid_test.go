package report_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/report"
)

// An experiment chooses the point of its grid with the smallest held-out error, once all points are recorded.
func TestGridChoosesTheSmallestHeldOutError(t *testing.T) {
	results := t.TempDir()
	unroll, err := suite.Study("unroll")
	require.NoError(t, err)
	points := unroll.Grid.Points()
	require.Len(t, points, 8)
	add := func(experiment string, point experiments.Settings, wrong int) {
		r := recordtest.New(t, suite, experiment, "smoke", 1, atGrid(point))
		predictions := []byte(r.Labels)
		for i := range wrong {
			predictions[i] = '0' + (predictions[i]-'0'+1)%10
		}
		r.Predictions = string(predictions)
		r.TestErr = record.ErrorRate(r.Predictions, r.Labels)
		r.Curve[len(r.Curve)-1].Trace.TestErr = r.TestErr
		_, err := r.Write(filepath.Join(results, "smoke", record.Folder))
		require.NoError(t, err)
	}
	for i, point := range points[1:] {
		add("unroll-0", point, 20+(i+5)%7) // the smallest at i = 2
		add("unroll-1", point, 30)
	}
	p := write(t, results)
	require.Empty(t, p.Chosen(unroll), "a point is missing")
	require.NoFileExists(t, filepath.Join(results, "smoke", "figures", "unroll_grid_energy_scale.svg"))
	add("unroll-0", points[0], 25)
	p = write(t, results)
	require.Equal(t, map[string]experiments.Settings{"unroll-0": points[3]}, p.Chosen(unroll))
	require.FileExists(t, filepath.Join(results, "smoke", "figures", "unroll_grid_energy_scale.svg"))
	lines := strings.Split(strings.TrimSpace(read(t, results, "grid.csv")), "\n")
	require.Len(t, lines, 1+8+7)
	best := slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, ",true,") })
	require.Len(t, best, 1)
	require.Contains(t, best[0], points[3].String())
	require.NoFileExists(t, filepath.Join(results, "smoke", "scans.csv"), "grids are no scans")
}

// atGrid are the overrides of a held-out run at a point of the grid, where nothing else is chosen.
func atGrid(point experiments.Settings) experiments.Overrides {
	return experiments.Overrides{HeldOut: 100, Settings: experiments.Settings{ebssc.ParamAlpha: 0.0}.With(point)}
}

// What was chosen for an experiment does not change its grid.
func TestChosenSettingsLeaveTheGridAsItIs(t *testing.T) {
	results := t.TempDir()
	unroll, err := suite.Study("unroll")
	require.NoError(t, err)
	for _, point := range unroll.Grid.Points() {
		r := recordtest.New(t, suite, "unroll-0", "smoke", 1, atGrid(point))
		_, err := r.Write(filepath.Join(results, "smoke", record.Folder))
		require.NoError(t, err)
	}
	unroll.Experiments = slices.Clone(unroll.Experiments)
	unroll.Experiments[0].Chosen = experiments.Settings{ebssc.ParamAlpha: 1e-5, experiments.ParamLearningRate: 0.01}
	p, err := report.Load(results, "smoke", experiments.Suite{unroll})
	require.NoError(t, err)
	require.Len(t, p.Chosen(unroll), 1)
}

// A held-out run with the recipe's settings is no choice where a study has no grid.
func TestNoGridNoChoice(t *testing.T) {
	results := t.TempDir()
	r := recordtest.New(t, suite, "crelu-lc7", "smoke", 1, experiments.Overrides{HeldOut: 100})
	_, err := r.Write(filepath.Join(results, "smoke", record.Folder))
	require.NoError(t, err)
	write(t, results)
	require.FileExists(t, filepath.Join(results, "smoke", "trials.csv"))
	require.NoFileExists(t, filepath.Join(results, "smoke", "grid.csv"))
}

// Experiments are declared with the settings that the records of their grid choose at profile quick.
func TestDeclaredSettingsAreTheChosenOnes(t *testing.T) {
	p, err := report.Load(filepath.Join("..", "..", "results"), "quick", suite)
	require.NoError(t, err)
	complete := 0
	for _, study := range suite {
		for name, chosen := range p.Chosen(study) {
			complete++
			_, e, err := suite.Experiment(name)
			require.NoError(t, err)
			for setting, value := range chosen {
				require.Equal(t, value, e.Chosen[setting], "%s, %s: declare what results/quick/grid.csv chooses", name, setting)
			}
			require.Equal(t, leastAlpha(p, name), e.Chosen[ebssc.ParamAlpha], "%s: declare what results/quick/scans.csv chooses", name)
		}
	}
	if complete == 0 {
		t.Skip("no experiment has records at all points of its grid")
	}
}

// leastAlpha is the α with the smallest held-out error among an experiment's trials that have its other settings as they are declared; nil
// for 0, which needs no declaration.
func leastAlpha(p *report.Profile, experiment string) (alpha any) {
	least := math.Inf(1)
	for _, r := range p.Records {
		others := slices.DeleteFunc(suite.Differences(r.Run), func(difference string) bool {
			return strings.HasPrefix(difference, ebssc.ParamAlpha+"=") || strings.HasPrefix(difference, "held_out=")
		})
		if r.Run.Experiment != experiment || r.Run.HeldOut == 0 || len(others) > 0 || r.TestErr >= least {
			continue
		}
		if least, alpha = r.TestErr, r.Run.Settings[ebssc.ParamAlpha]; alpha == 0.0 {
			alpha = nil
		}
	}
	return alpha
}
