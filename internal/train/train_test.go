package train_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/device/devicetest"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/train"
)

// golang computes in Go, which compiles nothing; xla is what trains, where that matters.
var golang, xla compute.Backend

func TestMain(m *testing.M) {
	devicetest.CompileFast()
	for backend, at := range map[string]*compute.Backend{"go": &golang, "cpu": &xla} {
		var err error
		if *at, _, err = device.Open(context.Background(), backend); err != nil {
			panic(err)
		}
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

// madeSet makes images of ten classes, each a coarse pattern of its own under noise.
func madeSet(side, channels, trainImages, testImages int) *dataset.Set {
	draw := func(n int) dataset.Images {
		images := dataset.Images{Height: side, Width: side, Channels: channels}
		for i := range n {
			pattern := rand.New(rand.NewPCG(1, uint64(i%10))).Perm(16 * channels)
			noise := rand.New(rand.NewPCG(2, uint64(i+n)))
			for pixel := range side * side * channels {
				c, x, y := pixel%channels, pixel/channels%side, pixel/channels/side
				value := 50 + 150*pattern[(y*4/side*4+x*4/side)*channels+c]/(16*channels) + noise.IntN(20)
				images.Pixels = append(images.Pixels, uint8(value))
			}
			images.Labels = append(images.Labels, uint16(i%10))
		}
		return images
	}
	return &dataset.Set{Name: "made", SHA256: "made", Train: draw(trainImages), Test: draw(testImages),
		Classes: strings.Split("0123456789", "")}
}

// plan makes a run of an experiment on a made set, in batches of 20.
func plan(
	t testing.TB, e experiments.Experiment, set *dataset.Set, epochs int, o experiments.Overrides,
) experiments.Run {
	study := experiments.Study{Name: "test", Experiments: []experiments.Experiment{e}}
	scale := experiments.Scale{Width: 4, Epochs: epochs, Seeds: 1,
		Change: func(h *experiments.Hyper) { h.Batch, h.Dropout = 20, 0.1 }}
	profile := experiments.Profile{Name: "test", Scales: map[string]experiments.Scale{"test": scale}}
	runs, err := experiments.Plan(study, profile, set.Dataset(), o)
	require.NoError(t, err)
	return runs[0]
}

// small returns a run of SSC+EBC₆₋₇ with its last pool and blocks alone, which compile in seconds.
// An epoch has five steps, with dropout, flips and crops; Muon trains the dictionary of conv7.
func small(t testing.TB, epochs int) (experiments.Run, *dataset.Set) {
	set := madeSet(16, 3, 100, 50)
	run := plan(t, experiments.Table[4], set, epochs,
		experiments.Overrides{Set: "preprocessing=gcn;alpha=0.001"})
	run.Network.Layers, run.Network.Height, run.Network.Width = run.Network.Layers[6:], 16, 16
	require.Equal(t, 5, run.StepsPerEpoch())
	return run, set
}

// newRunner returns a runner on a set, as each process has its own, and its log. Its checkpoints
// are in a folder.
func newRunner(set *dataset.Set, checkpoints string) (*train.Runner, *bytes.Buffer) {
	log := &bytes.Buffer{}
	origin := record.Origin{Commit: "test", Devices: 1, Cores: 1}
	return &train.Runner{Backend: golang, Set: set, Log: log, Checkpoints: checkpoints,
		Origin: origin, Kept: &train.Kept{}}, log
}

// looks is a context that ends when it is looked at once too often. Training looks once at its
// start, after each step, and after each batch that it evaluates.
type looks struct {
	context.Context
	left int
}

func (l *looks) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// Runs that are stopped and go on in other processes end with the same record, but for its times,
// and the same network as without a stop: with dropout and augmentation, on GoMLX's backend and on
// XLA's.
func TestResumeIsBitForBit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		backend compute.Backend
		traced  bool
		// after how many more looks than the one at the start, and at which step it goes on
		stops [][2]int
	}{
		// In mid-epoch, with half of what is measured after an epoch, and in mid-epoch with a damaged
		// checkpoint: it goes on from the epoch's end.
		"go": {golang, true, [][2]int{{2, 3}, {3, 5}, {4, 8}}},
		// In mid-epoch, and at an epoch's end.
		"xla": {xla, false, [][2]int{{2, 3}, {1, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, set := small(t, 3)
			run.EvalEachEpoch = c.traced
			want, network := trained(t, run, set, t.TempDir(), c.backend)
			checkpoints := t.TempDir()
			newest, _ := train.CheckpointFiles(checkpoints, run)
			for _, stop := range c.stops {
				runner, log := newRunner(set, checkpoints)
				runner.Backend, runner.Origin.Commit = c.backend, "stopped"
				_, _, err := runner.Train(&looks{context.Background(), 1 + stop[0]}, run,
					train.Place{})
				require.ErrorIs(t, err, context.Canceled)
				require.NotContains(t, log.String(), "not good")
				step, _, err := train.Restore(c.backend, checkpoints, run)
				require.NoError(t, err)
				require.Equal(t, stop[1], step, log.String())
			}
			if c.backend == golang {
				require.NoError(t, os.Truncate(newest, 1000))
			}
			got, same := trained(t, run, set, checkpoints, c.backend)
			require.Equal(t, "stopped then test", got.Origin.Commit)
			got.Origin = want.Origin
			require.Equal(t, want, got)
			require.Equal(t, network, same)
		})
	}
}

// Runs that share programs and images end with the networks and numbers that they have alone, also
// one that goes on from a checkpoint.
func TestRunsShare(t *testing.T) {
	t.Parallel()
	first, set := small(t, 2)
	second := first
	second.Seed = 2
	runner, log := newRunner(set, t.TempDir())
	runner.Backend = xla
	defer runner.Kept.Close()
	other := first // on other images
	other.TestImages = 20
	_, _, err := runner.Train(&looks{t.Context(), 1 + 3}, second, train.Place{}) // leaves step 3
	require.ErrorIs(t, err, context.Canceled)
	// leaves its images
	_, _, err = runner.Train(&looks{t.Context(), 0}, other, train.Place{ImagesFollow: true})
	require.ErrorIs(t, err, context.Canceled)
	places := []train.Place{{SeedsFollow: true, ImagesFollow: true}, {}}
	for i, run := range []experiments.Run{first, second} {
		alone, network := trained(t, run, set, t.TempDir(), xla)
		together, store, err := runner.Train(t.Context(), run, places[i])
		require.NoError(t, err)
		require.Equal(t, alone, withoutTimes(together))
		file, _, err := train.EncodeNetwork(run, store)
		require.NoError(t, err)
		require.Equal(t, network, file)
		store.Finalize()
		runner.Set = nil // the second run finds the images of the first
	}
	require.Contains(t, log.String(), ": training "+second.ID())
}

// withoutTimes returns what a training gave without times.
func withoutTimes(r record.Training) record.Training {
	r.Seconds, r.Finished = 0, time.Time{}
	for i := range r.Curve {
		r.Curve[i].Seconds = 0
	}
	return r
}

// trained trains a run to its end, and returns what the training gave without times, and the
// network's file.
func trained(
	t *testing.T, run experiments.Run, set *dataset.Set, checkpoints string, on compute.Backend,
) (record.Training, []byte) {
	runner, _ := newRunner(set, checkpoints)
	runner.Backend = on
	r, store, err := runner.Train(t.Context(), run, train.Place{})
	require.NoError(t, err)
	defer store.Finalize()
	require.Positive(t, r.Seconds)
	file, _, err := train.EncodeNetwork(run, store)
	require.NoError(t, err)
	return withoutTimes(r), file
}

// A run trained for real learns far beyond chance (90 % error). Its network gives pictures the
// scores that were recorded.
func TestTrainEndToEnd(t *testing.T) {
	defer func(before time.Duration) { *train.Silence = before }(*train.Silence)
	*train.Silence = -1 // a line after each step
	// After four epochs an image is so near a tie that the whitening that goes with the network, which
	// equals the original only nearly, gives it another class on some CPUs.
	run, _ := small(t, 8)
	set := madeSet(16, 3, 400, 150)
	run.Dataset, run.TrainImages, run.TestImages = set.Dataset(), 400, 150
	run.Hyper.Preprocessing, run.Hyper.ZCAEpsilon = experiments.ZCA, 3
	runner, log := newRunner(set, t.TempDir())
	runner.Backend = xla
	var curve []record.Epoch
	var paces []string
	runner.OnProgress = func(of experiments.Run, soFar []record.Epoch, pace string) {
		require.Equal(t, run, of)
		curve, paces = slices.Clone(soFar), append(paces, pace)
	}
	trained, store, err := runner.Train(t.Context(), run, train.Place{})
	require.NoError(t, err)
	defer store.Finalize()
	require.Less(t, trained.TestErr, 10.0, log.String())
	require.Less(t, trained.TrainErr, 10.0)
	for _, epoch := range trained.Curve {
		require.Equal(t, math.Abs(math.Round(4*epoch.BatchErr)), 4*epoch.BatchErr,
			"of 400 images a whole number was wrong")
	}
	require.Equal(t, trained.Curve, curve)
	require.Contains(t, paces[len(paces)-1], "images/s, 0s left")
	require.Greater(t, len(paces), 4, "also within an epoch, after its first step at least")
	require.Equal(t, 8, strings.Count(log.String(), "of 8: error"), "a line an epoch")
	require.Contains(t, log.String(), "epoch 2 of 8, 50%: error",
		"and more within one that takes long")
	folder := t.TempDir()
	file, sums, err := train.EncodeNetwork(run, store)
	require.NoError(t, err)
	filetest.Write(t, record.NetworkFile(folder, run.ID()), file)
	network, err := train.LoadNetwork(record.Record{ID: run.ID(), Run: run, Network: sums}, folder)
	require.NoError(t, err)
	// The whitening that goes with the network takes the place of the training images.
	require.NoError(t, runner.SaveWhitening(t.Context(), folder, run))
	whitening, err := train.LoadWhitening(xla, folder, run)
	require.NoError(t, err)
	seen, scores, err := train.Classify(t.Context(), xla, run, network, whitening, set.Test)
	require.NoError(t, err)
	require.Equal(t, []int{150, 16, 16, 3}, seen.Shape().Dimensions)
	require.Equal(t, trained.Predictions, record.ClassText(scores.Predictions(), 10))
	require.Equal(t, trained.Labels, record.ClassText(set.Test.Labels, 10))
	require.InEpsilon(t, trained.TestLoss, scores.LogLoss(set.Test.Labels), 1e-2)
	whitenings, err := filepath.Glob(record.NetworkFile(folder, "whitening-*"))
	require.NoError(t, err)
	require.Len(t, whitenings, 1)
	good := []byte(filetest.Read(t, whitenings[0]))
	_, err = train.LoadWhitening(golang, filepath.Join(filepath.Dir(folder), "another"), run)
	require.NoError(t, err, "of a profile beside it")
	for what, change := range map[string]wrong{
		"other images":  edited("whitening", `"TrainImages":400`, `"TrainImages":401`),
		"another ε":     edited("whitening", `"Epsilon":`, `"Epsilon":1`),
		"no directions": edited("whitening", `"Directions":`, `"Directions":-`),
		"too many":      edited("whitening", `"Directions":`, `"Directions":99`),
		"no mean":       without("mean"),
		"no whitening":  without("whitening"),
		"no variance":   ending("variances", -1),
	} {
		filetest.Write(t, whitenings[0], rezipped(t, good, zip.Store, change))
		_, err = train.LoadWhitening(xla, folder, run)
		require.ErrorContains(t, err, "is not good", what)
		require.NotErrorIs(t, err, fs.ErrNotExist, "it would be fitted again")
	}
}

// Without epochs the record is that of the untrained network. Held-out images are the last training
// images.
func TestNoEpochs(t *testing.T) {
	t.Parallel()
	run, set := small(t, 0)
	run.HeldOut, run.TrainImages, run.TestImages = 13, 87, 13
	runner, _ := newRunner(set, t.TempDir())
	r, _, err := runner.Train(t.Context(), run, train.Place{})
	require.NoError(t, err)
	require.Empty(t, r.Curve)
	require.Equal(t, r.Labels, strings.Repeat("0123456789", 10)[87:])
	require.InDelta(t, 90, r.TestErr, 40)
}

// Test images are preprocessed as a run's images are.
func TestPreprocessing(t *testing.T) {
	t.Parallel()
	set := madeSet(8, 3, 200, 50)
	runner, _ := newRunner(set, "")
	pixels := map[float32]bool{}
	for i, kind := range []string{experiments.Raw, experiments.GCN, experiments.ZCA, experiments.ZCA} {
		set.Train = set.Train.Slice(0, 200-i) // more than the run trains on, which does not count
		run := experiments.Run{TrainImages: 100, TestImages: 30,
			Hyper: experiments.Hyper{Preprocessing: kind, ZCAEpsilon: 0.1}}
		whitening, err := runner.Whitening(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, kind == experiments.ZCA, whitening != nil)
		images, err := train.Preprocess(runner.Backend, run, whitening, set.Test)
		require.NoError(t, err)
		pixels[tensors.MustCopyFlatData[float32](images)[7]] = true
	}
	require.Len(t, pixels, 3)
	require.Contains(t, pixels, float32(set.Test.Pixels[7])/255)
}

// Seeds and epochs have orders of their own, each of all images.
func TestOrders(t *testing.T) {
	run, _ := small(t, 1)
	seen := map[string]bool{}
	for run.Seed = range 5 {
		for epoch := range 5 {
			order := train.Order(t, golang, run, epoch)
			seen[fmt.Sprint(order)] = true
			slices.Sort(order)
			require.Len(t, slices.Compact(order), 100)
		}
	}
	require.Len(t, seen, 25)
}

// A run whose numbers grow beyond all bounds stops, and does not save them: training goes on from
// finite ones.
func TestDivergence(t *testing.T) {
	t.Parallel()
	run, set := small(t, 3)
	run.Hyper.Batch, run.Hyper.Optimizer = 100, experiments.Adam // a checkpoint a step
	for _, c := range []struct {
		rate   float64
		traced bool
		says   string
		saved  bool
	}{
		{1e30, false, "the loss is", true}, {1e39, false, "is not finite", false},
		{1e30, true, "the objective is", false},
	} {
		run.Hyper.LearningRate, run.EvalEachEpoch = c.rate, c.traced
		folder := t.TempDir()
		runner, _ := newRunner(set, folder)
		_, _, err := runner.Train(t.Context(), run, train.Place{})
		require.ErrorAs(t, err, new(train.Diverged))
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, fmt.Sprintf("learning_rate=%g; try smaller rates", c.rate))
		step, log, err := train.Restore(golang, folder, run)
		require.NoError(t, err)
		require.Equal(t, c.saved, step > 0)
		require.NotContains(t, log, "not good")
	}
}

// A filter that has a NaN gives codes of 0, so that the loss stays finite but for the penalty. It
// shows at the end of the epoch, with the step, and is not saved.
func TestDeadFilter(t *testing.T) {
	t.Parallel()
	run, set := small(t, 3)
	run.Hyper.Alpha = 0
	folder := t.TempDir()
	runner, _ := newRunner(set, folder)
	err := train.TrainWithDeadFilter(runner, run, "conv6/dictionary", 7)
	require.ErrorAs(t, err, new(train.Diverged))
	require.ErrorContains(t, err, "diverged: conv6/dictionary is not finite after step 10 with")
	step, _, err := train.Restore(golang, folder, run)
	require.NoError(t, err)
	require.Equal(t, 5, step, "of the epoch before")
}

// The rate rises in the warm-up and falls along half a cosine to the end of training.
func TestSchedule(t *testing.T) {
	t.Parallel()
	run, set := small(t, 4)
	const rate = 0.002
	run.Hyper.LearningRate, run.Hyper.WarmUp = rate, 0.25
	runner, _ := newRunner(set, "")
	var rates []float64
	var dictionaries [][]float32
	train.TakeSteps(t, runner, run, 20, func(rate float64, variable func(string) []float32) {
		rates, dictionaries = append(rates, rate), append(dictionaries, variable("conv7/dictionary"))
	})
	require.Len(t, rates, 20)
	for step, got := range rates {
		want := rate * float64(step) / 5
		if step >= 5 {
			want = rate * (1 + math.Cos(math.Pi*float64(step-5)/15)) / 2
		}
		require.InDelta(t, want, got, 1e-7, "step %d", step)
	}
	require.InDeltaSlice(t, dictionaries[18], dictionaries[19], 1e-3, "Muon's rate falls, too")
}

// An augmented image is the image or its mirror image, shifted by at most `crop` pixels each way,
// with zeros beyond the border. All of these occur, mirrored ones in half of the cases. Without
// crop and flip nothing changes.
func TestAugment(t *testing.T) {
	const count, size, crop = 400, 5, 1
	flat := make([]float32, count*size*size*2)
	for i := range flat {
		flat[i] = float32(i%(size*size*2) + 1) // each image the same, each of its pixels another number
	}
	images := tensors.FromFlatDataAndDimensions(flat, count, size, size, 2)
	augmented, err := train.Augment(golang, experiments.Hyper{Crop: crop, Flip: 0.5}, images)
	require.NoError(t, err)
	copies := map[string]bool{} // whether they are mirrored
	for way := range 3 * 3 * 2 {
		dy, dx, mirrored := way%3-crop, way/3%3-crop, way >= 9
		values := make([]float32, size*size*2)
		for i := range values {
			c, x, y := i%2, i/2%size+dx, i/2/size+dy
			if mirrored {
				x = size - 1 - x
			}
			if y >= 0 && y < size && x >= 0 && x < size {
				values[i] = flat[(y*size+x)*2+c]
			}
		}
		copies[fmt.Sprint(values)] = mirrored
	}
	seen, flipped := map[string]bool{}, 0
	for image := range slices.Chunk(tensors.MustCopyFlatData[float32](augmented), size*size*2) {
		mirrored, ok := copies[fmt.Sprint(image)]
		require.True(t, ok, "not a flipped or shifted copy: %v", image)
		seen[fmt.Sprint(image)] = true
		if mirrored {
			flipped++
		}
	}
	require.Len(t, seen, 18)
	require.InDelta(t, count/2, flipped, 40)
	same, err := train.Augment(golang, experiments.Hyper{}, images)
	require.NoError(t, err)
	require.Equal(t, flat, tensors.MustCopyFlatData[float32](same))
}

// A network has the same bits whatever number of threads XLA would take: that of the processors of
// the machine, or of a variable that a user sets. Each process takes two steps of a training.
func TestThreads(t *testing.T) {
	const nproc, child = "PJRT_NPROC", "TEST_THREADS"
	if os.Getenv(child) != "" {
		run, set := small(t, 1)
		runner, _ := newRunner(set, t.TempDir())
		runner.Backend = xla
		train.TakeSteps(t, runner, run, 2, func(_ float64, variable func(string) []float32) {
			require.NoError(t, json.NewEncoder(os.Stdout).Encode(variable("conv6/dictionary")))
		})
		return
	}
	t.Parallel()
	var networks []string
	for _, threads := range []string{"1", "8", "16"} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestThreads$")
		cmd.Env = append(os.Environ(), child+"=1", nproc+"="+threads)
		out, err := cmd.Output() // XLA writes what it warns of, with the time, to standard error
		require.NoError(t, err, "%s", out)
		require.Equal(t, 2, strings.Count(string(out), "]"), "%s", out)
		networks = append(networks, safefile.Sum(out))
	}
	for _, network := range networks[1:] {
		require.Equal(t, networks[0], network)
	}
}
