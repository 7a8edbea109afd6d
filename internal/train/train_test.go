package train_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/train"
)

var xla compute.Backend

func TestMain(m *testing.M) {
	var err error
	if xla, _, err = device.Open(context.Background(), "cpu", 1); err != nil {
		panic(err)
	}
	cache, err := os.MkdirTemp("", "ebssc-test-*")
	if err != nil {
		panic(err)
	}
	os.Setenv("EBSSC_CACHE", cache)
	status := m.Run()
	os.RemoveAll(cache)
	os.Exit(status)
}

// madeSet has images of CIFAR-10's size.
func madeSet(trainImages, testImages int) *dataset.Set {
	return madeImages(32, 3, trainImages, testImages)
}

// madeImages are of ten classes, each a coarse pattern of its own under noise. They have that many pixels a side, up to 32.
func madeImages(side, channels, trainImages, testImages int) *dataset.Set {
	rng := rand.New(rand.NewPCG(1, 2))
	var patterns [10][]float64
	for class := range patterns {
		for range 4 * 4 * channels {
			patterns[class] = append(patterns[class], rng.NormFloat64())
		}
	}
	draw := func(n int) dataset.Images {
		images := dataset.Images{Height: side, Width: side, Channels: channels}
		for i := range n {
			class := i % 10
			for y := range side {
				for x := range side {
					for c := range channels {
						value := 128 + 40*patterns[class][(y/8*4+x/8)*channels+c] + 5*rng.NormFloat64()
						images.Pixels = append(images.Pixels, uint8(max(0, min(255, value))))
					}
				}
			}
			images.Labels = append(images.Labels, uint8(class))
		}
		return images
	}
	set := &dataset.Set{Name: "made", SHA256: "made", Train: draw(trainImages), Test: draw(testImages)}
	for class := range 10 {
		set.Classes = append(set.Classes, string('0'+rune(class)))
	}
	return set
}

// plan makes one run of a row on a made set, at a scale for tests.
func plan(t testing.TB, row experiments.Experiment, set *dataset.Set, epochs int) experiments.Run {
	scale := experiments.Scale{Width: 4, Epochs: epochs, Seeds: 1, Settings: experiments.Settings{
		experiments.ParamBatch: 20, ebssc.ParamDropout: 0.05,
		// Programs of plain operations compile faster, which is most of the time here.
		ebssc.ParamPlainOps: true,
	}}
	runs, err := experiments.Plan(row, "test", scale, describe(set), onOne, nil, 0)
	require.NoError(t, err)
	return runs[0]
}

func describe(set *dataset.Set) experiments.Dataset {
	return (&train.Lab{Set: set}).Dataset()
}

// A run trained for real learns far beyond chance (90 % error); it is recorded, not trained again, and exported.
func TestTrainEndToEnd(t *testing.T) {
	set := madeSet(400, 200)
	run := plan(t, experiments.Table[4], set, 6)
	var log bytes.Buffer
	lab := &train.Lab{Backend: xla, Set: set, Log: &log, Commit: "test"}
	results := t.TempDir()
	runs := filepath.Join(results, "test", "runs")
	result, err := lab.Train(context.Background(), run, runs)
	require.NoError(t, err)
	require.Less(t, result.TestErr, 45.0, log.String())
	require.Less(t, result.TrainErr, 45.0)
	require.Len(t, result.Predictions, 200)
	require.Equal(t, 6, strings.Count(log.String(), "images/s"), "a line an epoch")

	wrong := 0
	for i, label := range set.Test.Labels {
		if result.Predictions[i] != '0'+label {
			wrong++
		}
	}
	require.InDelta(t, result.TestErr, float64(wrong)/2, 1e-9, "the recorded predictions are what the error rate counts")

	folder := filepath.Join(runs, result.ID)
	leftover := filepath.Join(folder, "."+train.CurveFile+"123")
	require.NoError(t, os.WriteFile(leftover, nil, 0o600))
	log.Reset()
	again, err := lab.Train(context.Background(), run, runs)
	require.NoError(t, err)
	require.Equal(t, result.TestErr, again.TestErr)
	require.Equal(t, result.Predictions, again.Predictions)
	require.Empty(t, log.String(), "a finished run is not trained again")

	require.NoFileExists(t, leftover, "what a killed process left is removed")

	found, where, err := train.FindRun(results, result.ID)
	require.NoError(t, err)
	require.Equal(t, folder, where)
	require.Equal(t, run, found, "a description survives being recorded")
	file := filepath.Join(t.TempDir(), "model.npz")
	require.NoError(t, lab.Export(context.Background(), found, folder, file))
	exported, err := numpy.FromNpzFile(file)
	require.NoError(t, err)
	require.Equal(t, []int{10, 8, 8, 16}, exported["conv6/thresholds"].Shape().Dimensions)
	require.Equal(t, []int{64, 32, 32, 3}, exported["images"].Shape().Dimensions)
	logits := exported["logits"].Value().([][]float32)
	require.Len(t, logits, 64)
	for i, class := range train.Scores(logits).Predictions() {
		require.Equal(t, result.Predictions[i], '0'+class)
	}

	text, err := os.ReadFile(filepath.Join(folder, "result.json"))
	require.NoError(t, err)
	damaged := filepath.Join(t.TempDir(), result.ID)
	require.NoError(t, os.Mkdir(damaged, 0o755))
	for _, content := range [][]byte{nil, []byte("{}"), []byte("null"), text[:1], text[:len(text)/2], text[:len(text)-2]} {
		file := filepath.Join(damaged, "result.json")
		require.NoError(t, os.WriteFile(file, content, 0o644))
		_, _, err := train.Load(damaged)
		require.ErrorContains(t, err, file)
		require.ErrorContains(t, err, "remove it and run the experiment again")
	}
}

// checkpoints are the data files of a run's checkpoints, oldest first.
func checkpoints(t *testing.T, runs string, run experiments.Run) []string {
	id, err := run.ID()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(runs, id, "checkpoint", "*.bin"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// variables are the values of all variables of a trained model, by name.
func variables(t *testing.T, run experiments.Run, runs string) map[string]any {
	id, err := run.ID()
	require.NoError(t, err)
	store, err := train.LoadModel(run, filepath.Join(runs, id))
	require.NoError(t, err)
	values := map[string]any{}
	for v := range store.IterVariables() {
		values[v.Path()] = v.MustValue().Value()
	}
	require.Greater(t, len(values), 10)
	return values
}

// A description that cannot be trained is refused before anything is compiled.
func TestPlanRefuses(t *testing.T) {
	set := madeSet(20, 10)
	scale := experiments.Scale{Width: 2, Epochs: 1, Seeds: 1}
	three := experiments.Machine{Backend: "xla-cpu", Devices: 3}
	refused := func(message string, machine experiments.Machine, settings experiments.Settings) {
		_, err := experiments.Plan(experiments.Table[0], "test", scale, describe(set), machine, settings, 0)
		require.ErrorContains(t, err, message)
	}
	refused("does not fit", onOne, experiments.Settings{experiments.ParamBatch: 21})
	refused("out of range", onOne, experiments.Settings{experiments.ParamLearningRate: -1.0})
	refused("not a number", onOne, experiments.Settings{experiments.ParamCrop: "wide"})
	refused("beta=-1 is out", onOne, experiments.Settings{"beta": -1.0})
	refused("batch_size=20 cannot be shared by 3 devices: take a multiple of 3", three, experiments.Settings{experiments.ParamBatch: 20})
}
