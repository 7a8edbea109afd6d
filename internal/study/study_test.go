package study

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/cache/cachetest"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// backend is the configuration of XLA on the CPU.
var backend string

func TestMain(m *testing.M) {
	choice, err := device.Resolve(context.Background(), "cpu")
	if err != nil {
		panic(err)
	}
	cache, err := os.MkdirTemp("", "ebssc-test-*")
	if err != nil {
		panic(err)
	}
	backend = choice.Config
	os.Setenv("EBSSC_CACHE", cache)
	status := m.Run()
	os.RemoveAll(cache)
	os.Exit(status)
}

// lines are what a session writes, also from several runs at a time.
type lines struct {
	bytes.Buffer
	mutex sync.Mutex
}

func (l *lines) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.Buffer.Write(text)
}

// start starts a session at profile smoke on made digits, and returns its log.
func start(t *testing.T, o Options) (*Session, *lines) {
	log := &lines{}
	if o.Data == "" {
		o.Data = t.TempDir()
		datasettest.MNIST(t, o.Data, 1000)
	}
	o.Profile, o.Backend, o.Devices, o.Jobs, o.Out = "smoke", backend, 1, max(1, o.Jobs), log
	s, err := Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s, log
}

// only returns a study with the named experiments alone.
func only(t *testing.T, names ...string) experiments.Study {
	chosen, err := Suite.Only(names)
	require.NoError(t, err)
	require.Len(t, chosen, 1)
	return chosen[0]
}

// files are the checksums of all files in a folder, by their paths.
func files(t *testing.T, folder string) map[string]string {
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if content, err := os.ReadFile(filepath.Join(folder, path)); err == nil {
			all[path] = fmt.Sprintf("%x", sha256.Sum256(content))
		}
		return err
	}))
	return all
}

// A session trains what is missing, and writes its network, record and report. What is recorded is verified, and not trained again.
func TestSession(t *testing.T) {
	results, study := t.TempDir(), only(t, "unroll-1")
	s, log := start(t, Options{Results: results})
	runner, err := s.Runner(t.Context(), experiments.MNIST)
	require.NoError(t, err)
	runs, err := experiments.Plan(study, s.profile, runner.Dataset(), s.Overrides)
	require.NoError(t, err)
	folder, id := filepath.Join(results, "smoke-mnist-unknown"), runs[0].ID()
	require.Equal(t, folder, s.Folder(runner.Set.Name))

	require.NoError(t, os.MkdirAll(runner.Checkpoints, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(runner.Checkpoints, "."+id+".ckpt123"), nil, 0o600)) // of a kill while a checkpoint was written
	reports, diverged, err := s.Run(t.Context(), experiments.Suite{study})
	require.NoError(t, err)
	require.NoError(t, diverged)
	require.Len(t, reports[filepath.Base(folder)].Records, 1)
	r, err := record.Load(record.Path(filepath.Join(folder, record.Folder), id))
	require.NoError(t, err)
	require.Equal(t, "ebssc run unroll --only unroll-1 --profile smoke", r.Command)
	require.Less(t, r.TestErr, 85.0)
	_, err = train.LoadNetwork(r, folder)
	require.NoError(t, err)
	written := files(t, results)
	require.Contains(t, written, "smoke-mnist-unknown/README.md")
	for path := range written {
		require.NotContains(t, path, train.Checkpoints, "a recorded run needs none")
	}

	log.Reset()
	_, _, err = s.Run(t.Context(), experiments.Suite{study})
	require.NoError(t, err)
	require.Contains(t, log.String(), "not trained again")
	require.NotContains(t, log.String(), "compiling")
	require.Equal(t, written, files(t, results))

	require.NoError(t, os.WriteFile(record.Path(filepath.Join(folder, record.Folder), id), []byte("{}"), 0o600))
	log.Reset()
	_, _, err = s.Run(t.Context(), experiments.Suite{study})
	require.ErrorContains(t, err, "is refused")
	require.Empty(t, log.String(), "before anything is trained")
}

// deep is a network whose numbers grow beyond all bounds within a few steps: nothing normalises the codes of its blocks.
type deep struct{}

func (deep) Network(int) ebssc.Network {
	n := ebssc.Network{Height: 28, Width: 28, Channels: 1, Classes: 10, Classifier: ebssc.Linear}
	for i := range 20 {
		block := &ebssc.Block{Filters: 4, Kernel: 1, Stride: 1, Coding: ebssc.CReLU}
		n.Layers = append(n.Layers, ebssc.Layer{Name: fmt.Sprintf("conv%d", i+1), Block: block})
	}
	n.Layers[0].Block.Kernel = 28
	return n
}

// A run that diverges does not stop the others, of which two train at a time.
func TestDivergingRun(t *testing.T) {
	s, log := start(t, Options{Results: t.TempDir(), Jobs: 2})
	study := only(t, "unroll-0", "unroll-1", "unroll-2")
	diverging := &study.Experiments[1]
	diverging.Architecture, diverging.Change = deep{}, func(h *experiments.Hyper) {
		h.Optimizer, h.LearningRate, h.WarmUp, h.ClassifierScale, h.Preprocessing = experiments.Adam, 1, 0, 1e6, experiments.Raw
	}
	reports, diverged, err := s.Run(t.Context(), experiments.Suite{study})
	require.NoError(t, err)
	require.ErrorAs(t, diverged, new(train.Diverged))
	require.ErrorContains(t, diverged, "unroll-1-1-")
	require.Equal(t, 1, strings.Count(log.String(), "going on with the other runs"))
	var trained []string
	for _, r := range reports["smoke-mnist-unknown"].Records {
		trained = append(trained, r.Run.Experiment)
		require.Equal(t, max(1, device.Cores()/2), r.Origin.Cores)
	}
	require.ElementsMatch(t, []string{"unroll-0", "unroll-2"}, trained)
}

// All shards together have each run once, and each its place among those of its own.
func TestShards(t *testing.T) {
	s, _ := start(t, Options{Results: t.TempDir(), Overrides: experiments.Overrides{Seeds: 2}})
	studies := experiments.Suite{only(t, "unroll-0", "unroll-1", "unroll-2"), only(t, "ssc-ebc17-mnist")}
	seen, sizes := map[string]int{}, []int{}
	for _, text := range []string{"1/3", "2/3", "3/3", ""} {
		var err error
		s.Shard, err = ParseShard(text)
		require.NoError(t, err)
		plans, err := s.plan(t.Context(), studies)
		require.NoError(t, err)
		all := 0
		for _, p := range plans {
			for _, run := range p.runs {
				all++
				seen[run.ID()]++
				require.Contains(t, p.runner.Places[run.ID()].Name, fmt.Sprintf("run %d of ", all))
			}
		}
		sizes = append(sizes, all)
	}
	require.Equal(t, []int{3, 3, 2, 8}, sizes)
	for id, count := range seen {
		require.Equal(t, 2, count, "%s is in one shard, and among all runs", id)
	}
	for _, bad := range []string{"0/3", "4/3", "3", "a/3", "1/", "-1/3"} {
		_, err := ParseShard(bad)
		require.ErrorContains(t, err, "--shard", bad)
	}
}

// Inference with T sweeps counts as T + 1 bottom-up passes. With two jobs the longest runs come first, and the run beside one is not left when that
// ends; nor are recorded runs.
func TestTimeLeftOfAllRuns(t *testing.T) {
	s, _ := start(t, Options{Results: t.TempDir()})
	unroll, err := Suite.Study("unroll")
	require.NoError(t, err)
	for _, c := range []struct {
		jobs     int
		recorded string // numbers of sweeps
		order    string
		later    map[int]float64 // by number of sweeps: the work left for all jobs, over the run's own
	}{
		{1, "", "01234", map[int]float64{0: 2 + 3 + 4 + 5, 3: 5.0 / 4, 4: 0}},
		{2, "", "43210", map[int]float64{4: (3 + 2 + 1) / 5.0 / 2, 3: (2 + 1) / 4.0 / 2, 1: 0, 0: 0}},
		{1, "24", "01234", map[int]float64{0: 2 + 4, 1: 4.0 / 2, 3: 0}},
	} {
		s.Jobs = c.jobs
		plans, err := s.plan(t.Context(), experiments.Suite{unroll})
		require.NoError(t, err)
		for _, run := range plans[0].runs {
			path := record.Path(filepath.Join(s.Folder(run.Dataset.Name), record.Folder), run.ID())
			if strings.Contains(c.recorded, fmt.Sprint(run.Network.Sweeps)) {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, nil, 0o600))
			}
		}
		plans, err = s.plan(t.Context(), experiments.Suite{unroll})
		require.NoError(t, err)
		require.Equal(t, 5-len(c.recorded), plans[0].missing)
		order := ""
		for _, run := range plans[0].runs {
			order += fmt.Sprint(run.Network.Sweeps)
			if want, ok := c.later[run.Network.Sweeps]; ok {
				require.InDelta(t, want, plans[0].runner.Places[run.ID()].Later, 1e-9, "%d jobs, T = %d", c.jobs, run.Network.Sweeps)
			}
		}
		require.Equal(t, c.order, order)
	}
}

// A decoded experiment has measurements from every block and figures. Its network decodes a test image, and classifies pictures as recorded.
func TestDecodings(t *testing.T) {
	s, _ := start(t, Options{Results: t.TempDir()})
	study := only(t, "ssc-ebc17-mnist")
	study.Experiments[0].Architecture = experiments.TwoBlocks{Below: experiments.EBCInBoth} // which compiles faster
	reports, _, err := s.Run(t.Context(), experiments.Suite{study})
	require.NoError(t, err)
	folder := s.Folder(dataset.MNISTUnknownName)
	runner, err := s.RunnerOf(t.Context(), experiments.MNIST, s.runners[experiments.MNIST].Dataset())
	require.NoError(t, err)
	for _, r := range reports[filepath.Base(folder)].Records {
		require.Equal(t, 25, r.Decodings.Images)
		for _, levels := range [][]record.Level{r.Decodings.Trained, r.Decodings.Untrained} {
			require.Len(t, levels, 2)
			for _, level := range levels {
				require.Greater(t, level.Linear.Cosine, level.Linear.Control)
			}
		}
		require.NotEqual(t, r.Decodings.Trained, r.Decodings.Untrained)
		require.Len(t, r.Decodings.Figures, 3, "all levels, the changes from conv2, and the filters")
		require.True(t, r.Learned(), "else the report does without its figures")
		written := files(t, folder)
		for _, figure := range r.Decodings.Figures {
			require.Equal(t, figure.SHA256, written[record.FiguresFolder+"/"+figure.File])
		}
		_, err = s.DecodeImage(t.Context(), runner, r, 3)
		require.NoError(t, err)
		number := 0
		for c, err := range s.Classify(t.Context(), runner, r, []string{"a.png", "b.png", "c.png"}, runner.Set.Test.Slice(0, 3)) {
			require.NoError(t, err)
			require.Equal(t, r.Predictions[number], '0'+train.Scores{c.Scores}.Predictions()[0])
			require.Len(t, c.Energies, 10)
			require.NotNil(t, c.Hypotheses)
			number++
		}
		require.Equal(t, 3, number)
		require.NoError(t, os.Remove(train.NetworkFile(folder, r.ID)))
		_, err = s.DecodeImage(t.Context(), runner, r, 3)
		require.ErrorContains(t, err, r.Command)
	}
	require.Len(t, reports[filepath.Base(folder)].Records, 1)
}

// A recorded run sees the images that it was trained on, digits that stood in for CIFAR-10 too, and no others.
func TestRunnerOfARecordedRun(t *testing.T) {
	s, _ := start(t, Options{Results: t.TempDir()})
	digits, err := dataset.StandIn(t.Context(), s.Data, s.Out)
	require.NoError(t, err)
	stoodIn := s.newRunner(digits).Dataset()
	for _, images := range []experiments.Images{experiments.CIFAR10, experiments.MNIST} {
		runner, err := s.RunnerOf(t.Context(), images, stoodIn)
		require.NoError(t, err)
		require.Equal(t, stoodIn, runner.Dataset())
	}
	stoodIn.SHA256 = "another"
	_, err = s.RunnerOf(t.Context(), experiments.CIFAR10, stoodIn)
	require.ErrorContains(t, err, "give the same with --data")
}

// A full disk says what to do, and the run goes on from its checkpoint once there is room.
func TestFullDisk(t *testing.T) {
	disk, study := cachetest.Disk(t, 4096), experiments.Suite{only(t, "unroll-0")}
	s, log := start(t, Options{Results: disk})
	runner, err := s.Runner(t.Context(), experiments.MNIST)
	require.NoError(t, err)
	runner.OnEpoch = func(_ experiments.Run, curve []record.Epoch) {
		if len(curve) == 2 {
			cachetest.Fill(t, disk)
		}
	}
	_, _, err = s.Run(t.Context(), study)
	require.ErrorContains(t, err, "make room, then run it again")
	cachetest.Empty(t, disk)
	log.Reset()
	_, _, err = s.Run(t.Context(), study)
	require.NoError(t, err)
	require.NotContains(t, log.String(), "epoch", "all were in the checkpoint")
}

// Options that cannot be met are refused before anything starts.
func TestOptions(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, record.Folder), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, record.Folder, "a.json"), nil, 0o600))
	for _, none := range []string{folder, t.TempDir()} {
		_, err := Folders(none)
		require.ErrorContains(t, err, "--results", "it is one profile's, and it is empty")
	}
	good := Options{Profile: "smoke", Results: t.TempDir(), Devices: 1, Jobs: 1}
	require.NoError(t, good.Check(Suite))
	for says, change := range map[string]func(o *Options){
		folder:       func(o *Options) { o.Results = folder },
		"--devices":  func(o *Options) { o.Devices = 0 },
		"smok":       func(o *Options) { o.Profile = "smok" },
		"--seeds":    func(o *Options) { o.Seeds = -1 },
		"beta=-1":    func(o *Options) { o.Set = "beta=-1" },
		"batch_size": func(o *Options) { o.Images = 1 },
	} {
		bad := good
		change(&bad)
		require.ErrorContains(t, bad.Check(Suite), says)
	}
}
