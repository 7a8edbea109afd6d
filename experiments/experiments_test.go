package experiments_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
)

// plan returns the runs of an experiment at profile quick.
func plan(t *testing.T, experiment string, o experiments.Overrides) []experiments.Run {
	chosen, err := catalogue.All.Only([]string{experiment})
	require.NoError(t, err)
	return planStudy(t, chosen[0], "quick", o)
}

// planStudy returns the runs of a study at a profile.
func planStudy(
	t *testing.T, study experiments.Study, profile string, o experiments.Overrides,
) []experiments.Run {
	scales, err := experiments.FindProfile(profile)
	require.NoError(t, err)
	runs, err := experiments.Plan(study, scales, study.Images.Declared(), o)
	require.NoError(t, err, "%s at %s", study.Name, profile)
	return runs
}

// The contract that declarations keep: names, bases, claims and the kind of report fit one another.
func TestDeclarationsFit(t *testing.T) {
	form, names := regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`), map[string]bool{}
	named := func(kind, name string) {
		require.Regexp(t, form, name)
		require.False(t, names[kind+name], "two are the %s %s", kind, name)
		names[kind+name] = true
	}
	declared := map[string]experiments.Experiment{}
	for _, study := range catalogue.All {
		named("study", study.Name)
		require.NotEmpty(t, study.About)
		require.NotEqual(t, "all", study.Name, "`ebssc run all` runs all studies")
		images := study.Images.Images()
		require.Equal(t, study.Images, images.Kind, "%s is of images that are declared", study.Name)
		require.NotEmpty(t, study.Experiments)
		for _, e := range study.Experiments {
			named("experiment", e.Name)
			require.NotEmpty(t, e.Title)
			if e.Base != "" {
				require.Contains(t, declared, e.Base, "the base of %s stands above it", e.Name)
			}
			require.True(t, e.Fits(study.Images), "%s is on %s", e.Name, study.Images)
			network := e.Network(8)
			require.Equal(t, []int{images.Height, images.Width, images.Channels, len(images.Classes)},
				[]int{network.Height, network.Width, network.Channels, network.Classes}, e.Name)
			declared[e.Name] = e
		}
		for _, claim := range study.Claims {
			named("claim", claim.Name)
			require.NotContains(t, []string{claim.Says, claim.Where}, "", claim.Name)
			require.NotEmpty(t, claim.Expect, claim.Name)
			for _, expectation := range claim.Expect {
				requireMeasured(t, claim.Name, expectation, declared)
			}
		}
	}
	for _, profile := range experiments.Profiles {
		named("profile", profile.Name)
		require.NotContains(t, profile.Name, "-", "what follows it in a folder's name is the data set")
		require.NotEmpty(t, profile.About)
		require.Len(t, catalogue.All.ForProfile(profile), len(profile.Scales),
			"%s has scales of studies that are not declared", profile.Name)
	}
}

// Study fashion is the table on other images: the same networks and hyperparameters, and the
// table's claims with its bounds. The paper reports none of it.
func TestFashionIsTheTable(t *testing.T) {
	table, err := catalogue.All.Study("table")
	require.NoError(t, err)
	fashion, err := catalogue.All.Study("fashion")
	require.NoError(t, err)
	require.True(t, fashion.Ablation)
	for _, name := range []string{"smoke", "quick"} {
		of := planStudy(t, table, name, experiments.Overrides{})
		on := planStudy(t, fashion, name, experiments.Overrides{})
		require.Len(t, on, len(of))
		for i, run := range on {
			require.Equal(t, of[i].Experiment+"-fashion", run.Experiment)
			require.Equal(t, []any{of[i].Network, of[i].Hyper, of[i].Epochs, of[i].Seed, of[i].TestImages},
				[]any{run.Network, run.Hyper, run.Epochs, run.Seed, run.TestImages})
			require.Equal(t, "fashion-mnist", run.Dataset.Name)
		}
	}
	for _, e := range fashion.Experiments {
		require.Zero(t, e.Paper, e.Name)
	}
	var names []string
	for _, claim := range fashion.Claims {
		names = append(names, claim.Name)
		require.True(t, claim.Ours, claim.Name)
		at := slices.IndexFunc(table.Claims, func(c experiments.Claim) bool {
			return c.Name+"-fashion" == claim.Name
		})
		for i, expected := range table.Claims[at].Expect {
			require.Equal(t, [2]float64{expected.Low, expected.High},
				[2]float64{claim.Expect[i].Low, claim.Expect[i].High}, claim.Name)
			for j, term := range expected.Terms {
				term.Experiment += "-fashion"
				require.Equal(t, term, claim.Expect[i].Terms[j], claim.Name)
			}
		}
	}
	require.Equal(t, []string{"proposed-fashion", "crelu-fashion", "spherical-fashion",
		"sparse-fashion", "ebc-fashion"}, names)
}

// requireMeasured requires that the runs of a study measure what a claim expects.
func requireMeasured(
	t *testing.T, claim string, e experiments.Expectation,
	declared map[string]experiments.Experiment,
) {
	require.NotEmpty(t, e.Quantity.Name, "%s is of no quantity", claim)
	require.Less(t, e.Low, e.High, claim)
	require.NotEmpty(t, e.Terms, claim)
	first := experiments.Recipe.Changed(declared[e.Terms[0].Experiment].Change)
	for _, term := range e.Terms {
		require.NotZero(t, term.Weight, claim)
		require.Contains(t, declared, term.Experiment, claim)
		h := experiments.Recipe.Changed(declared[term.Experiment].Change)
		if e.Quantity == experiments.TrainLoss {
			require.Equal(t, [2]float64{first.EnergyScale, first.Alpha}, [2]float64{h.EnergyScale, h.Alpha},
				"%s compares unlike losses", claim)
		}
		if !e.Quantity.InBlock {
			require.Equal(t, experiments.Term{Weight: term.Weight, Experiment: term.Experiment}, term, claim)
			continue
		}
		require.True(t, declared[term.Experiment].Decoded, "%s: %s is not decoded", claim,
			term.Experiment)
		variables, err := declared[term.Experiment].Network(8).Shapes()
		require.NoError(t, err)
		require.Contains(t, variables, term.Block+"/dictionary", "%s: %s is no block", claim, term.Block)
		if e.Quantity == experiments.ClassDifference || e.Quantity == experiments.BiasSpread {
			require.Len(t, variables[term.Block+"/thresholds"], 4, "%s: %s has no class thresholds", claim,
				term.Block)
		}
	}
}

// Every run of every profile can be trained, and its ID is its own. Runs on held-out images never
// have a seed of the evidence.
func TestEveryPlannedRun(t *testing.T) {
	ids := map[string]bool{}
	for _, profile := range experiments.Profiles {
		for _, study := range catalogue.All.ForProfile(profile) {
			for _, o := range []experiments.Overrides{{}, {HeldOut: 1000}} {
				runs := planStudy(t, study, profile.Name, o)
				require.Len(t, runs, len(study.Experiments)*profile.Scales[study.Name].Seeds)
				for _, run := range runs {
					require.False(t, ids[run.ID()], "%s twice", run.ID())
					require.False(t, o.HeldOut > 0 && run.Decoded, "decodings show the test images")
					ids[run.ID()] = true
				}
			}
		}
	}
	evidence := plan(t, "ssc-lc7", experiments.Overrides{Seeds: 1000})
	heldOut := plan(t, "ssc-lc7", experiments.Overrides{HeldOut: 5000})
	require.Less(t, evidence[999].Seed, heldOut[0].Seed, "of as many seeds as there may be")
	require.Equal(t, []int{45_000, 5000}, []int{heldOut[0].TrainImages, heldOut[0].TestImages})
}

// No two seeds, epochs or purposes share random numbers. Different runs of one seed do.
func TestStreamsDiffer(t *testing.T) {
	run := plan(t, "ssc-lc7", experiments.Overrides{})[0]
	other := plan(t, "unroll-1", experiments.Overrides{})[0]
	purposes := []experiments.Purpose{experiments.InitialValues, experiments.Order,
		experiments.Augmentation, experiments.Dropout}
	seen := map[int64]bool{}
	for seed := 1; seed <= 50; seed++ {
		run.Seed, other.Seed = seed, seed
		for epoch := range 61 {
			for _, purpose := range purposes {
				stream := run.Stream(purpose, epoch)
				require.False(t, seen[stream], "%s of seed %d in epoch %d is another's", purpose, seed, epoch)
				seen[stream] = true
				require.Equal(t, stream, other.Stream(purpose, epoch))
			}
		}
	}
}

// A run's ID is the hash of these fields: with a new one, every ID changes.
func TestFieldsOfAnID(t *testing.T) {
	common := `Block Channels Classes Classifier Coding Dataset Decoded Epochs Experiment Filters
		HeldOut Height Hyper Kernel Layers Name Network Padding Profile Rectified SHA256 Seed Spherical
		Stride Test TestImages Thresholds Traced Train TrainImages Version Width alpha batch_size
		beta beta_step class_spread class_step classifier_scale crop dropout energy_scale flip
		learning_rate muon_decay muon_momentum muon_rate optimizer preprocessing warm_up zca_epsilon `
	for experiment, own := range map[string]string{
		"ssc-lc7": "Pool Average Window", "unroll-1": "Sweeps",
	} {
		run, names := plan(t, experiment, experiments.Overrides{})[0], map[string]bool{}
		text, err := json.Marshal(run)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`"(\w+)":`).FindAllStringSubmatch(string(text), -1) {
			names[name[1]] = true
		}
		require.ElementsMatch(t, strings.Fields(common+own), slices.Collect(maps.Keys(names)))
		require.Regexp(t, "^"+experiment+"-1-[0-9a-f]{10}$", run.ID())
	}
}

// Networks have as many parameters as the paper's, rounded as the paper does.
func TestParameterCounts(t *testing.T) {
	for _, study := range catalogue.All {
		for _, e := range study.Experiments {
			count, err := e.Network(experiments.PaperWidth).Count()
			require.NoError(t, err)
			if e.Paper.Params != "" {
				millions := float64(count.Dictionary+count.Classifier) / 1e6
				require.Equal(t, e.Paper.Params, fmt.Sprintf("%.1fM", millions), e.Name)
			}
		}
	}
}

// At profile quick SSC+LC₇ has nearly the parameters of SSC+EBC₆₋₇ where study fit says so, and the
// rows of its crossing have the scales that the claims are about.
func TestScalesOfFit(t *testing.T) {
	planned := func(experiment string) (run experiments.Run, parameters int) {
		run = plan(t, experiment, experiments.Overrides{})[0]
		count, err := run.Network.Count()
		require.NoError(t, err)
		return run, count.Total()
	}
	_, equal := planned("ssc-lc7-parameters")
	_, classifier := planned("ssc-ebc67")
	require.InEpsilon(t, classifier, equal, 0.02)
	for _, c := range []struct {
		experiment            string
		width, images, epochs int
	}{
		{"ssc-lc7-wide", 96, 50_000, 1}, {"ssc-ebc67-few", 16, 5000, 64},
		{"ssc-ebc67-tuned", 16, 50_000, 4}, {"unroll-short-0", 8, 60_000, 6},
		{"unroll-medium-1", 8, 60_000, 20}, {"unroll-long-1", 8, 60_000, 60},
	} {
		run, _ := planned(c.experiment)
		require.Equal(t, []int{c.width, c.images, c.epochs},
			[]int{run.Width(), run.TrainImages, run.Epochs}, c.experiment)
	}
	wider := plan(t, "ssc-lc7-wide", experiments.Overrides{Width: 2})[0]
	require.Equal(t, 12, wider.Width(), "a user's width is that of the study")
}

// Whatever the hyperparameters, their description makes them again, as the command line reads it.
func TestHyperRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		h := experiments.Recipe
		h.Optimizer = []string{"muon", "adam"}[rng.IntN(2)]
		h.Preprocessing = []string{"zca", "gcn", "raw"}[rng.IntN(3)]
		value := reflect.ValueOf(&h).Elem()
		for _, field := range reflect.VisibleFields(value.Type()) {
			least, _ := strconv.ParseFloat(field.Tag.Get("min"), 64)
			most, err := strconv.ParseFloat(field.Tag.Get("max"), 64)
			number, f := least+rng.Float64()*(most-least), value.FieldByIndex(field.Index)
			if err == nil && rng.IntN(2) == 0 {
				f.Set(reflect.ValueOf(number).Convert(f.Type()))
			}
		}
		require.NoError(t, h.Validate())
		text := ""
		for _, row := range h.Describe() {
			text += row[0] + " ; "
		}
		again, err := experiments.Recipe.Set(text)
		require.NoError(t, err)
		require.Equal(t, h, again)
	}
}

// Every hyperparameter says how it is written and what it is, numbers their range too; the recipe
// lies in it, and what does not is refused.
func TestHyperFields(t *testing.T) {
	require.NoError(t, experiments.Recipe.Validate())
	for _, field := range reflect.VisibleFields(reflect.TypeFor[experiments.Hyper]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous {
			continue
		}
		require.Regexp(t, "^[a-z]+(_[a-z]+)*$", name, field.Name)
		require.NotEmpty(t, field.Tag.Get("about"), name)
		for bound, beyond := range map[string]float64{"min": -1, "max": 1} {
			number, err := strconv.ParseFloat(field.Tag.Get(bound), 64)
			require.Equal(t, field.Type.Kind() == reflect.String, err != nil, "%s: %s", name, bound)
			h, err := experiments.Recipe.Set(fmt.Sprintf("%s=%g", name, number+beyond))
			require.ErrorContains(t, errors.Join(err, h.Validate()), name)
		}
	}
	for _, bad := range []string{
		"beat=1", "beta", "=1", "beta=x", "beta=", "batch_size=1.5", "beta=1;beta=1", "beta = 1",
		"file:/dev/zero", "optimizer=sgd", "preprocessing=", "precision=half", "beta=NaN",
		"learning_rate=Inf", "warm_up=1",
	} {
		h, err := experiments.Recipe.Set(bad)
		require.ErrorContains(t, errors.Join(err, h.Validate()),
			strings.TrimSpace(strings.Split(bad, "=")[0]))
	}
	h, err := experiments.Recipe.Set("batch_size=064")
	require.NoError(t, err)
	require.Equal(t, 64, h.Batch, "not octal")
}

// Overrides that no run can have are refused before anything is planned. The others change the ID.
func TestOverrides(t *testing.T) {
	for _, o := range []experiments.Overrides{
		{Epochs: 10_001}, {Set: "crop=0;\nbeta=0.01"}, // a record of it could not be read
		{Seeds: 2_000_000_000}, {Seeds: -1}, {Width: -1}, {Width: 1 << 30}, {Width: 600}, {Epochs: -1},
		{HeldOut: -1}, {HeldOut: 50_000}, {Images: -1}, {Images: 10},
		{HeldOut: 1}, {Images: 50_001}, {Images: 45_001, HeldOut: 5000}, {Set: "beta=-1"},
		{Set: "batch_size=50001"},
	} {
		_, err := experiments.Plan(catalogue.All[0], experiments.Profiles[1],
			catalogue.All[0].Images.Declared(), o)
		require.Error(t, err, "%+v", o)
	}
	_, err := catalogue.All.Only([]string{"sc-lc7"})
	require.ErrorContains(t, err, "did you mean ssc-lc7?")
	ids := map[string]bool{}
	for _, o := range []experiments.Overrides{{}, {Width: 9}, {Images: 100}, {Epochs: 2},
		{HeldOut: 100}, {Set: "crop=0;beta=0.01"},
		{Set: "precision=bfloat16"}, {Set: "precision=float32"}} {
		ids[plan(t, "ssc-lc7", o)[0].ID()] = true
	}
	require.Len(t, ids, 7, "the last one is the first one")
	require.Equal(t, ` --width 9 --set "crop=0;beta=0.01"`,
		experiments.Overrides{Width: 9, Set: "crop=0;beta=0.01"}.Flags())
}
