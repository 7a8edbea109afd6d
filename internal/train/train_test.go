package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/stretchr/testify/require"

	"ebsscgo/ablations"
	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/cache/cachetest"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
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
	runs, err := experiments.Plan(row, "test", scale, describe(set), onOne, experiments.Overrides{})
	require.NoError(t, err)
	return runs[0]
}

func describe(set *dataset.Set) experiments.Dataset {
	return (&train.Runner{Set: set}).Dataset()
}

// A run without a progress bar says how far it is in the middle of an epoch, too.
func TestProgressWithinAnEpoch(t *testing.T) {
	train.NeverSilent(t)
	set := madeSet(30, 10)
	run := plan(t, experiments.Table[0], set, 2)
	run.Settings[experiments.ParamBatch] = 10
	var log bytes.Buffer
	_, err := (&train.Runner{Backend: xla, Set: set, Log: &log}).Train(context.Background(), run, t.TempDir(), nil)
	require.NoError(t, err)
	for _, line := range []string{"epoch 1 of 2, 33% of it: loss ", "epoch 1 of 2, 66% of it: loss ", "epoch 1 of 2: loss ", "epoch 2 of 2, 33% of it: loss "} {
		require.Contains(t, log.String(), line)
	}
}

// A run trained for real learns far beyond chance (90 % error); it is recorded, not trained again, and exported.
func TestTrainEndToEnd(t *testing.T) {
	set := madeSet(400, 200)
	run := plan(t, experiments.Table[4], set, 6)
	run.Settings = run.Settings.With(experiments.Settings{ebssc.ParamAlpha: 1e-3})
	var log bytes.Buffer
	runner := &train.Runner{Backend: xla, Set: set, Log: &log, Origin: record.Origin{Commit: "test"}}
	var seen []record.Epoch
	runner.OnEpoch = func(of experiments.Run, curve []record.Epoch) {
		require.Equal(t, run.ID(), of.ID())
		seen = append(seen, curve[len(curve)-1])
	}
	folder := t.TempDir()
	trained, err := runner.Train(context.Background(), run, folder, func(_ context.Context, r *record.Record) error {
		r.Decodings = &record.Decodings{Images: 1}
		return nil
	})
	require.NoError(t, err)
	require.Less(t, trained.TestErr, 45.0, log.String())
	require.Less(t, trained.TrainErr, 45.0)
	require.Equal(t, 1, trained.Decodings.Images)
	require.Equal(t, 6, strings.Count(log.String(), "images/s"), "a line an epoch")
	require.Equal(t, trained.Curve, seen)
	for i, label := range set.Test.Labels {
		require.Equal(t, '0'+label, trained.Labels[i])
	}
	loaded, err := record.Load(record.Path(filepath.Join(folder, record.Folder), run.ID()))
	require.NoError(t, err)
	require.Equal(t, trained, loaded)

	log.Reset()
	again, err := runner.Train(context.Background(), run, folder, nil)
	require.NoError(t, err)
	require.Equal(t, trained, again)
	require.Equal(t, fmt.Sprintf("%s: recorded on %s, and not trained again\n", run.ID(), trained.Finished.Format(time.DateOnly)), log.String())

	file := filepath.Join(t.TempDir(), "model.npz")
	network, err := train.LoadModel(run, folder)
	require.NoError(t, err)
	squares := 0.0
	for name, variable := range run.Network.Variables(network) {
		if strings.HasSuffix(name, "/dictionary") || name == "conv6/thresholds" || name == "conv7/thresholds" {
			for _, v := range tensors.MustCopyFlatData[float32](variable) {
				squares += float64(v) * float64(v)
			}
		}
	}
	require.InEpsilon(t, 1e-3/2*squares, *trained.Penalty, 1e-3, "of dictionaries and class thresholds")
	require.NoError(t, runner.Export(context.Background(), run, network, file))
	exported, err := numpy.FromNpzFile(file)
	require.NoError(t, err)
	require.Equal(t, []int{10, 8, 8, 16}, exported["conv6/thresholds"].Shape().Dimensions)
	require.Equal(t, []int{64, 32, 32, 3}, exported["images"].Shape().Dimensions)
	logits := exported["logits"].Value().([][]float32)
	require.Len(t, logits, 64)
	for i, class := range train.Scores(logits).Predictions() {
		require.Equal(t, trained.Predictions[i], '0'+class)
	}
	t.Run("NumPy", func(t *testing.T) { requireNumPyScores(t, file) })
}

// A full disk says what to do, and the run goes on from its checkpoint once there is room.
func TestFullDisk(t *testing.T) {
	disk := cachetest.Disk(t, 4096)
	set := madeSet(40, 20)
	run := plan(t, experiments.Table[0], set, 2)
	var log bytes.Buffer
	runner := &train.Runner{Backend: xla, Set: set, Log: &log}
	_, err := runner.Train(t.Context(), run, disk, func(context.Context, *record.Record) error {
		cachetest.Fill(t, disk)
		return nil
	})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "make room, then run it again")
	require.NotContains(t, err.Error(), "\n")
	cachetest.Empty(t, disk)
	log.Reset()
	_, err = runner.Train(t.Context(), run, disk, nil)
	require.NoError(t, err)
	require.NotContains(t, log.String(), "epoch", "all epochs were in the checkpoint")
}

// requireNumPyScores requires that docs/scores.py computes the scores in an export.
func requireNumPyScores(t *testing.T, file string) {
	if out, err := exec.Command("python3", "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("docs/scores.py needs NumPy (python3 -m pip install numpy): %v, %s", err, out)
	}
	out, err := exec.Command("python3", "../../docs/scores.py", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var difference, largest float64
	_, err = fmt.Sscanf(string(out), "largest difference %g, largest score %g", &difference, &largest)
	require.NoError(t, err, "%s", out)
	require.Greater(t, largest, 0.03, "%s", out)
	require.Less(t, difference, 3e-4+1e-4*largest, "%s", out) // energies times 100 in float32
}

// A network's file and export have all that another implementation needs, whatever the coding.
func TestNumPyScores(t *testing.T) {
	set := madeSet(100, 50)
	runner := &train.Runner{Backend: xla, Set: set, Log: io.Discard}
	rows := slices.Clone(experiments.Table)
	for _, name := range []string{"ssc-avg-lc7", "ssc-lc7-beta-filter", "ssc-lc7-local", "ssc-lc7-signed-codes", "ssc-ebc67-top"} {
		_, e, err := ablations.Studies.Experiment(name)
		require.NoError(t, err)
		rows = append(rows, e)
	}
	for _, e := range rows {
		t.Run(e.Name, func(t *testing.T) {
			run := withMuon(small(t, e, set, 1), e)
			store, err := train.InitialModel(xla, run)
			require.NoError(t, err)
			defer store.Finalize()
			file := filepath.Join(t.TempDir(), "model.npz")
			require.NoError(t, runner.Export(context.Background(), run, store, file))
			requireNumPyScores(t, file)
		})
	}
}

// Measurements that fail leave no record, and the trained model stays: the same command measures it again.
func TestFailedMeasurementIsNotRecorded(t *testing.T) {
	set := madeSet(100, 50)
	run, folder := small(t, experiments.Table[0], set, 1), t.TempDir()
	var log bytes.Buffer
	runner := &train.Runner{Backend: xla, Set: set, Log: &log}
	_, err := runner.Train(context.Background(), run, folder, func(context.Context, *record.Record) error { return errors.New("no decoding") })
	require.ErrorContains(t, err, "no decoding")
	require.NoFileExists(t, record.Path(filepath.Join(folder, record.Folder), run.ID()))
	log.Reset()
	_, err = runner.Train(context.Background(), run, folder, nil)
	require.NoError(t, err)
	require.NotContains(t, log.String(), "epoch")
}

// The linear classifier's weights are of such a size that float32 takes the small steps at the end of training whole.
func TestClassifierTakesSmallSteps(t *testing.T) {
	set := madeSet(100, 50)
	run := small(t, experiments.Table[3], set, 1)
	run.Settings[experiments.ParamLearningRate], run.Settings[experiments.ParamWarmUp] = 1e-6, 0.0
	store, err := train.InitialModel(xla, run)
	require.NoError(t, err)
	const name = "classifier/weights"
	before := tensors.MustCopyFlatData[float32](run.Network.Variables(store)[name])
	_, _, after := train.TakeSteps[float32](t, &train.Runner{Backend: xla, Set: set, Log: io.Discard}, run, 1)
	sum := 0.0
	for i := range before {
		sum += math.Abs(float64(after[name][i]) - float64(before[i]))
	}
	require.InEpsilon(t, 1e-6, sum/float64(len(before)), 0.02, "Adam's first step is as long as its rate")
}

// The rate rises in the warm-up and falls along half a cosine to the end of training. Muon's steps are as long as the rate says.
func TestSchedule(t *testing.T) {
	set := madeSet(100, 50)
	run := withMuon(small(t, experiments.Table[3], set, 4), experiments.Table[3])
	const rate = 0.002
	run.Settings[experiments.ParamLearningRate], run.Settings[experiments.ParamWarmUp], run.Settings[experiments.ParamMuonDecay] = rate, 0.25, 0.0
	rates, moved := train.Schedule(t, &train.Runner{Backend: xla, Set: set, Log: io.Discard}, run, "conv7/dictionary")
	require.Len(t, rates, 20)
	for step, got := range rates {
		want := rate * float64(step) / 5
		if step >= 5 {
			want = rate * (1 + math.Cos(math.Pi*float64(step-5)/15)) / 2
		}
		require.InDelta(t, want, got, 1e-7, "step %d", step)
		if step > 0 {
			require.InEpsilon(t, moved[4]*want/rate, moved[step-1], 0.25, "step %d", step) // singular values are near 1
		}
	}
}

// Held-out images are the last of the training images. They are measured, and never trained on.
func TestHeldOut(t *testing.T) {
	set := madeSet(100, 50)
	scale := experiments.Scale{Width: 4, Epochs: 1, Seeds: 1, Settings: experiments.Settings{experiments.ParamBatch: 20, experiments.ParamWhiten: false}}
	runs, err := experiments.Plan(experiments.Table[0], "test", scale, describe(set), onOne, experiments.Overrides{HeldOut: 13})
	require.NoError(t, err)
	trained, measured := train.Labels(t, &train.Runner{Backend: xla, Set: set, Log: io.Discard}, runs[0])
	require.Equal(t, set.Train.Labels[:87], trained)
	require.Equal(t, set.Train.Labels[87:], measured)
	require.NotEqual(t, set.Train.Labels[:13], measured)
}

// A description that cannot be trained is refused before anything is compiled.
func TestPlanRefuses(t *testing.T) {
	set := madeSet(20, 10)
	scale := experiments.Scale{Width: 2, Epochs: 1, Seeds: 1}
	three := experiments.Machine{Backend: "xla-cpu", Devices: 3}
	refused := func(message string, machine experiments.Machine, settings experiments.Settings) {
		_, err := experiments.Plan(experiments.Table[0], "test", scale, describe(set), machine, experiments.Overrides{Settings: settings})
		require.ErrorContains(t, err, message)
	}
	refused("does not fit", onOne, experiments.Settings{experiments.ParamBatch: 21})
	refused("out of range", onOne, experiments.Settings{experiments.ParamLearningRate: -1.0})
	refused("give a value of type int", onOne, experiments.Settings{experiments.ParamCrop: "wide"})
	refused("beta=-1 is out", onOne, experiments.Settings{"beta": -1.0})
	refused("batch_size=20 cannot be shared by 3 devices: take a multiple of 3", three, experiments.Settings{experiments.ParamBatch: 20})
}

// An augmented image is the image or its mirror image, shifted by at most `crop` pixels each way, with zeros beyond the border. All of these
// occur. Cutout sets a square to 0, with its middle at any pixel. Without all of these nothing changes.
func TestAugment(t *testing.T) {
	const count, size, crop = 400, 5, 1
	flat := make([]float32, count*size*size*2)
	for i := range flat {
		flat[i] = float32(i%(size*size*2) + 1) // each image the same, each of its pixels another number
	}
	images := tensors.FromFlatDataAndDimensions(flat, count, size, size, 2)
	augmented, err := train.Augment(xla, experiments.Settings{experiments.ParamCrop: crop, experiments.ParamFlip: 0.5}, images)
	require.NoError(t, err)
	var copies [][]float32
	for dy := -crop; dy <= crop; dy++ {
		for dx := -crop; dx <= crop; dx++ {
			for _, mirrored := range []bool{false, true} {
				values := make([]float32, size*size*2)
				for y := range size {
					for x := range size {
						fromY, fromX := y+dy, x+dx
						if mirrored {
							fromX = size - 1 - fromX
						}
						for c := range 2 {
							if fromY >= 0 && fromY < size && fromX >= 0 && fromX < size {
								values[(y*size+x)*2+c] = flat[(fromY*size+fromX)*2+c]
							}
						}
					}
				}
				copies = append(copies, values)
			}
		}
	}
	seen := make([]int, len(copies))
	got := tensors.MustCopyFlatData[float32](augmented)
	for image := range slices.Chunk(got, size*size*2) {
		which := slices.IndexFunc(copies, func(c []float32) bool { return slices.Equal(c, image) })
		require.GreaterOrEqual(t, which, 0, "not a flipped or shifted copy: %v", image)
		seen[which]++
	}
	require.Greater(t, slices.Min(seen), 0, "%v", seen)

	cut, err := train.Augment(xla, experiments.Settings{experiments.ParamCutout: 3}, images)
	require.NoError(t, err)
	cuts := map[[2]int]bool{} // by the square's middle
	for image := range slices.Chunk(tensors.MustCopyFlatData[float32](cut), size*size*2) {
		var missing []int
		for i, value := range image {
			require.True(t, value == 0 || value == flat[i])
			if value == 0 {
				missing = append(missing, i)
			}
		}
		found := false
		for middle := range size * size {
			var want []int
			for i := range image {
				if y, x := i/2/size, i/2%size; max(y-middle/size, middle/size-y) <= 1 && max(x-middle%size, middle%size-x) <= 1 {
					want = append(want, i)
				}
			}
			if slices.Equal(missing, want) {
				found, cuts[[2]int{middle / size, middle % size}] = true, true
			}
		}
		require.True(t, found, "not a square of 3 pixels a side, as far as it lies in the image: %v", image)
	}
	require.Len(t, cuts, size*size)

	same, err := train.Augment(xla, experiments.Settings{experiments.ParamCrop: 0, experiments.ParamFlip: 0.0}, images)
	require.NoError(t, err)
	require.Equal(t, flat, tensors.MustCopyFlatData[float32](same))
}

// With smoothed labels the loss is the mean of the losses of all labels that an image could have: its own in 1 − s of the cases, and any of the
// Y classes, each as often, in s.
func TestLabelSmoothing(t *testing.T) {
	const smoothing, classes = 0.3, 4
	scores := tensors.FromValue([][]float32{{1, 2, -3, 0}, {40, 0.5, 39, 38}, {-20, 30, 10, 29}})
	mean := func(s float64, labels [][]int32) float64 {
		run := experiments.Run{Settings: experiments.Settings{experiments.ParamLabelSmoothing: s}}
		return float64(tensors.ToScalar[float32](graph.MustExecOnce(xla, func(scores *graph.Node) *graph.Node {
			return graph.ReduceAllMean(train.LossOf(run)([]*graph.Node{graph.Const(scores.Graph(), labels)}, []*graph.Node{scores}))
		}, scores)))
	}
	own := [][]int32{{1}, {2}, {0}}
	want := (1 - smoothing) * mean(0, own)
	for class := range int32(classes) {
		want += smoothing / classes * mean(0, [][]int32{{class}, {class}, {class}})
	}
	require.InEpsilon(t, want, mean(smoothing, own), 1e-5)
	require.Greater(t, math.Abs(mean(smoothing, own)-mean(0, own)), 1.0)

	// Training takes it.
	set := madeSet(100, 50)
	run := small(t, experiments.Table[0], set, 1)
	first := func(s float64) float64 {
		run.Settings = run.Settings.With(experiments.Settings{experiments.ParamLabelSmoothing: s})
		losses, _, _ := train.TakeSteps[float32](t, &train.Runner{Backend: xla, Set: set, Log: io.Discard}, run, 1)
		return losses[0]
	}
	require.NotEqual(t, first(0), first(smoothing))
}

// The log-loss of scores is GoMLX's, which training minimises.
func TestLogLoss(t *testing.T) {
	scores := train.Scores{{1, 2, -3}, {40, 0.5, 39}, {-200, 300, 100}}
	labels := []uint8{1, 2, 0}
	want := graph.MustExecOnce(xla, func(scores *graph.Node) *graph.Node {
		labels := graph.Const(scores.Graph(), [][]int32{{1}, {2}, {0}})
		return graph.ReduceAllMean(loss.SparseCategoricalCrossEntropyLogits([]*graph.Node{labels}, []*graph.Node{scores}))
	}, tensors.FromValue([][]float32(scores)))
	require.InDelta(t, tensors.ToScalar[float32](want), scores.LogLoss(labels), 1e-4)
	require.Equal(t, []uint8{1, 0, 1}, scores.Predictions())
}
