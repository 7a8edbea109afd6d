package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/cache/cachetest"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/device"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/tensor"
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
	seen  func(text string) // is told of each
}

func (l *lines) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.seen != nil {
		l.seen(string(text))
	}
	return l.Buffer.Write(text)
}

// digits makes digits in a folder.
func digits(t *testing.T) string {
	folder := t.TempDir()
	datasettest.MNIST(t, folder, 1000)
	return folder
}

// smoke returns options at profile smoke on made digits, and their log.
func smoke(t *testing.T) (Options, *lines) {
	log := &lines{}
	return Options{Profile: "smoke", Backend: backend, Jobs: 1, Data: digits(t),
		Results: t.TempDir(), Out: log}, log
}

// folder of results on made digits at profile smoke.
const folder = "smoke-mnist-unknown"

// only returns a study with the named experiments alone.
func only(t *testing.T, names ...string) experiments.Study {
	chosen, err := catalogue.All.Only(names)
	require.NoError(t, err)
	require.Len(t, chosen, 1)
	return chosen[0]
}

// Runs of two precisions are refused before anything is done: XLA takes the flags of one.
func TestTwoPrecisions(t *testing.T) {
	o, _ := smoke(t)
	study := only(t, "unroll-0", "unroll-1")
	study.Experiments[1].Change = func(h *experiments.Hyper) { h.Precision = ebssc.BFloat16 }
	_, _, err := Run(t.Context(), o, experiments.Suite{study})
	require.ErrorContains(t, err, "some runs are in bfloat16")
	require.Empty(t, sums(t, o.Results))
}

// sums returns the checksums of all files in a folder, by their paths.
func sums(t *testing.T, folder string) map[string]string {
	all := filetest.Tree(t, folder)
	for path, content := range all {
		all[path] = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	}
	return all
}

// Run trains what is missing, and writes its network, record and report. What is recorded is
// verified, and not trained again.
func TestRun(t *testing.T) {
	o, log := smoke(t)
	o.Seeds = 1 // a flag of the command
	study := experiments.Suite{only(t, "unroll-long-1")}
	runs, _ := planned(t, o, nil, study...)
	checkpoints := filepath.Join(o.Results, folder, train.Checkpoints)
	require.NoError(t, os.MkdirAll(checkpoints, 0o755))
	locked := filepath.Join(checkpoints, runs[0].ID()+".lock")
	require.NoError(t, syscall.Mkfifo(locked, 0o600))
	_, _, err := Run(t.Context(), o, study)
	require.ErrorContains(t, err, locked+": it is no regular file; remove it")
	require.NoError(t, os.Remove(locked))
	// of a kill while a checkpoint was written
	unfinished := filepath.Join(checkpoints, "."+runs[0].ID()+".ckpt123")
	filetest.Write(t, unfinished, "")
	log.Reset()
	reports, diverged, err := Run(t.Context(), o, study)
	require.NoError(t, err)
	require.NoError(t, diverged)
	require.Len(t, reports[folder].Records, 1)
	records := filepath.Join(o.Results, folder, record.Folder)
	r, err := record.Load(record.Path(records, runs[0].ID()))
	require.NoError(t, err)
	require.Equal(t, "ebssc run unroll-budget --only unroll-long-1 --profile smoke --seeds 1",
		r.Command)
	require.Less(t, r.TestErr, 50.0)
	require.Equal(t, record.Trace{TrainLoss: r.TrainLoss, TrainErr: r.TrainErr, TestErr: r.TestErr},
		*r.Curve[9].Trace)
	_, err = train.LoadNetwork(r, filepath.Join(o.Results, folder))
	require.NoError(t, err)
	written := sums(t, o.Results)
	require.Contains(t, written, folder+"/README.md")
	for path := range written {
		require.NotContains(t, path, train.Checkpoints, "a recorded run needs none")
	}

	log.Reset()
	_, _, err = Run(t.Context(), o, study)
	require.NoError(t, err)
	require.Regexp(t,
		`^unroll-budget: profile .*\nunroll-budget: on .*\n`+
			`unroll-budget: 1 of 1 runs are recorded and not trained again\n$`,
		log.String(), "three lines for a study")
	require.Equal(t, written, sums(t, o.Results))
	// Other images of the same name are seen before they are trained on.
	other := o
	other.Data = t.TempDir()
	datasettest.MNIST(t, other.Data, 900)
	_, _, err = Run(t.Context(), other, study)
	require.ErrorContains(t, err, "runs on other images")
	require.Equal(t, written, sums(t, o.Results))
	// as another process does once it has recorded the run
	tidying := flock.New(filepath.Join(checkpoints, r.ID+".lock"))
	require.NoError(t, tidying.Lock())
	_, _, err = Run(t.Context(), o, study)
	require.NoError(t, err)
	require.NoError(t, tidying.Close())

	// What only looks like a folder of the profile is none.
	filetest.Write(t, filepath.Join(o.Results, "smoke-log.txt"), "")
	profiles, err := report.LoadAll(o.Results, "")
	require.NoError(t, err)
	require.Len(t, profiles, 1)

	// A damaged record is seen before a backend starts.
	filetest.Write(t, record.Path(records, r.ID), "{}")
	o.Backend = "none"
	_, _, err = Run(t.Context(), o, study)
	require.ErrorContains(t, err, "is refused")
}

// deep is a network whose numbers grow beyond all bounds within a few steps: nothing normalises the
// codes of its blocks.
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
	o, log := smoke(t)
	o.Jobs = 2
	study := only(t, "unroll-0", "unroll-1", "unroll-2")
	diverging := &study.Experiments[1]
	diverging.Architecture, diverging.Change = deep{}, func(h *experiments.Hyper) {
		h.Optimizer, h.LearningRate, h.WarmUp = experiments.Adam, 1, 0
		h.ClassifierScale, h.Preprocessing = 1e6, experiments.Raw
	}
	reports, diverged, err := Run(t.Context(), o, experiments.Suite{study})
	require.NoError(t, err)
	require.ErrorAs(t, diverged, new(train.Diverged))
	require.ErrorContains(t, diverged, "unroll-1-1-")
	require.Equal(t, 1, strings.Count(log.String(), "going on with the other runs"))
	var trained []string
	for _, r := range reports[folder].Records {
		trained = append(trained, r.Run.Experiment)
		require.Equal(t, max(1, device.Cores()/2), r.Origin.Cores)
	}
	require.ElementsMatch(t, []string{"unroll-0", "unroll-2"}, trained)
}

// planned plans studies on made digits.
func planned(
	t *testing.T, o Options, recorded map[string]record.Record, studies ...experiments.Study,
) (runs []task, missing int) {
	s, err := Start(t.Context(), o, dataset.Find, experiments.MNIST)
	require.NoError(t, err)
	defer s.Close()
	profile, err := experiments.FindProfile(o.Profile)
	require.NoError(t, err)
	runs, missing, err = s.plan(profile, studies, recorded)
	require.NoError(t, err)
	return runs, missing
}

// All shards together have each run once, and each its place among those of its own.
func TestShards(t *testing.T) {
	o, _ := smoke(t)
	o.Seeds = 2
	seen, sizes := map[string]int{}, []int{}
	for _, text := range []string{"1/3", "2/3", "3/3", ""} {
		o.Shard = Shard{}
		require.Equal(t, text == "", o.Shard.Set(text) != nil, "an empty text is no shard")
		runs, _ := planned(t, o, nil, only(t, "unroll-0", "unroll-1", "unroll-2"),
			only(t, "ssc-ebc17-mnist"))
		for i, run := range runs {
			seen[run.ID()]++
			require.Contains(t, run.place.Name, fmt.Sprintf("%d/%d ", i+1, len(runs)))
		}
		sizes = append(sizes, len(runs))
	}
	require.Equal(t, []int{3, 3, 2, 8}, sizes)
	for id, count := range seen {
		require.Equal(t, 2, count, "%s is in one shard, and among all runs", id)
	}
	for _, bad := range []string{"0/3", "4/3", "3", "a/3", "1/", "-1/3"} {
		require.ErrorContains(t, new(Shard).Set(bad), "such as 3/10", bad)
	}
}

// The work that is left, without that of recorded runs, is shared by all jobs. With two jobs the
// longest runs come first.
func TestTimeLeftOfAllRuns(t *testing.T) {
	o, _ := smoke(t)
	unroll, err := catalogue.All.Study("unroll")
	require.NoError(t, err)
	// products: up, and of a sweep up and down for ten hypotheses
	const pass, sweep = 81*25*4 + 81*8*32, 2 * 10 * 81 * 8 * 32
	work := func(sweeps float64) float64 { return pass + sweeps*sweep }
	for _, c := range []struct {
		jobs     int
		recorded string // numbers of sweeps
		order    string
		later    map[int]float64 // by number of sweeps: the work left for all jobs, over the run's own
	}{
		{1, "", "01234", map[int]float64{0: (4*pass + 10*sweep) / work(0), 3: work(4) / work(3), 4: 0}},
		{2, "", "43210", map[int]float64{
			4: (5*pass+10*sweep)/work(4)/2 - 1, 3: (4*pass+6*sweep)/work(3)/2 - 1, 1: 0, 0: 0}},
		{1, "24", "01234", map[int]float64{0: (2*pass + 4*sweep) / work(0), 1: work(3) / work(1), 3: 0}},
	} {
		o.Jobs = c.jobs
		recorded := map[string]record.Record{}
		runs, _ := planned(t, o, recorded, unroll)
		for _, run := range runs {
			if strings.Contains(c.recorded, fmt.Sprint(run.Network.Sweeps)) {
				recorded[run.ID()] = record.Record{}
			}
		}
		runs, missing := planned(t, o, recorded, unroll)
		require.Equal(t, 5-len(c.recorded), missing)
		order := ""
		for _, run := range runs {
			order += fmt.Sprint(run.Network.Sweeps)
			if want, ok := c.later[run.Network.Sweeps]; ok {
				require.InDelta(t, want, run.place.RemainingWork, 1e-9, "%d jobs, T = %d", c.jobs,
					run.Network.Sweeps)
			}
		}
		require.Equal(t, c.order, order)
	}
}

// A decoded experiment has measurements from every block and figures. Its network decodes a test
// image, and classifies pictures as recorded.
func TestDecodings(t *testing.T) {
	o, _ := smoke(t)
	study := only(t, "ssc-ebc17-mnist")
	// which compiles faster
	study.Experiments[0].Architecture = experiments.TwoBlocks{Below: ebssc.EBC}
	reports, _, err := Run(t.Context(), o, experiments.Suite{study})
	require.NoError(t, err)
	require.Len(t, reports[folder].Records, 1)
	results := reports[folder].Folder
	for _, r := range reports[folder].Records {
		require.Equal(t, 25, r.Decodings.Images)
		for _, levels := range [][]record.BlockMeasures{r.Decodings.Trained, r.Decodings.Untrained} {
			require.Len(t, levels, 2)
			for _, level := range levels {
				require.Greater(t, level.Linear.Cosine, level.Linear.Control)
			}
		}
		require.NotEqual(t, r.Decodings.Trained, r.Decodings.Untrained)
		require.Len(t, r.Decodings.Figures, 3, "all levels, the changes from conv2, and the filters")
		require.True(t, r.Learned(), "else the report does without its figures")
		written := sums(t, results)
		for _, figure := range r.Decodings.Figures {
			require.Equal(t, figure.SHA256, written[record.FiguresFolder+"/"+figure.File])
		}
		network, free, err := Open(t.Context(), o, results, r)
		require.NoError(t, err)
		defer free()
		set, err := TrainedOn(t.Context(), o, r)
		require.NoError(t, err)
		test := set.Test
		again, err := network.DecodeImage(t.Context(), test, slices.Index(test.Labels, 0))
		require.NoError(t, err)
		picture, err := again.PNG()
		require.NoError(t, err)
		require.Equal(t, r.Decodings.Figures[0].SHA256, fmt.Sprintf("%x", sha256.Sum256(picture)),
			"the run's own figure")
		measured, _, err := network.Measure(t.Context(), test.Slice(0, r.Run.TestImages), false)
		require.NoError(t, err)
		require.Equal(t, r.Decodings.Trained, measured.Trained)
		require.Equal(t, r.Decodings.Untrained, measured.Untrained)
		require.Regexp(t, `mean: SSC.*, width 4, 200 images, 2 epochs, seed 1$`,
			r.Decodings.Figures[0].Title)
		pictures := test.Slice(0, 3)
		seen, scores, err := network.Classify(t.Context(), pictures) // with the trained variables again
		require.NoError(t, err)
		require.Equal(t, r.Predictions[:3], record.ClassText(scores.Predictions(), 10))
		_, err = network.Hypotheses(t.Context(), "a.png", pictures.Slice(0, 1), tensor.Pick(seen, 0))
		require.NoError(t, err)

		// It decodes the images that it was trained on, digits that stood in for CIFAR-10 too, and no
		// others.
		stoodIn := r
		stoodIn.Run.Experiment, stoodIn.Run.Dataset.Name = "ssc-ebc17", "mnist32-unknown"
		padded, err := TrainedOn(t.Context(), o, stoodIn)
		require.NoError(t, err)
		require.Equal(t, 32, padded.Test.Width)
		stoodIn.Run.Dataset.SHA256 = "another"
		_, err = TrainedOn(t.Context(), o, stoodIn)
		require.ErrorContains(t, err, "give the same with --data")

		// What is not as it was is seen before a backend starts.
		o.Backend = "none"
		_, _, err = Open(t.Context(), o, results, r)
		require.ErrorContains(t, err, "none")
		o.Data = "/does/not/exist"
		_, err = TrainedOn(t.Context(), o, r)
		require.ErrorContains(t, err, o.Data)
		require.NoError(t, os.Remove(record.NetworkFile(results, r.ID)))
		_, _, err = Open(t.Context(), o, results, r)
		require.ErrorContains(t, err, r.Command)
	}
}

// A full disk says what to do, and the run goes on from its checkpoint once there is room.
func TestFullDisk(t *testing.T) {
	disk, study := cachetest.Disk(t, 4096), experiments.Suite{only(t, "unroll-0")}
	o, log := smoke(t)
	o.Results, o.Epochs = disk, 4
	var empty func() error
	log.seen = func(text string) {
		if strings.Contains(text, "epoch 2 of 4") {
			empty = cachetest.Fill(t, disk)
		}
	}
	_, _, err := Run(t.Context(), o, study)
	require.ErrorContains(t, err, "make room, then run it again")
	require.NoError(t, empty())
	log.Reset()
	log.seen = nil
	_, _, err = Run(t.Context(), o, study)
	require.NoError(t, err)
	require.NotContains(t, log.String(), "epoch 1 of", "it was in the checkpoint")
}

// A person's own pictures of more than ten classes are trained on in place of the study's, recorded
// with the classes' names, reported without the paper's numbers, and classified. Recorded runs are
// not trained again, and other pictures do not mix with them.
func TestOwnPictures(t *testing.T) {
	o, log := smoke(t)
	o.Data = ""
	o.Pictures = dataset.Pictures{Folder: filepath.Join(t.TempDir(), "Shades"), Side: 28, Grey: true}
	files := 0
	add := func(class int) {
		picture := image.NewGray(image.Rect(0, 0, 28, 28))
		for at := range picture.Pix {
			if at%28 < 2+files/12 { // a width, which nothing depends on
				picture.Pix[at] = uint8(20 * class)
			}
		}
		var content bytes.Buffer
		require.NoError(t, png.Encode(&content, picture))
		files++
		name := fmt.Sprintf("shade %02d/%d.png", class, files)
		filetest.Write(t, filepath.Join(o.Pictures.Folder, name), content.Bytes())
	}
	for range 24 {
		for class := 1; class <= 12; class++ {
			add(class)
		}
	}
	studies := experiments.Suite{only(t, "unroll-1")}
	among := o
	among.Results = filepath.Join(o.Pictures.Folder, "results")
	_, _, err := Run(t.Context(), among, studies)
	require.ErrorContains(t, err, "lies among the pictures")
	few := o
	few.Set, few.Images = "batch_size=270", 270
	_, _, err = Run(t.Context(), few, studies)
	require.ErrorContains(t, err, "--images 270: there are ", "what is left to train on")
	written, err := os.ReadDir(o.Results)
	require.NoError(t, err)
	require.Empty(t, written)
	// Another program records other images of the same pictures first.
	other, raced, once := o, o, sync.Once{}
	other.Pictures.Grey, other.Results = false, t.TempDir()
	raced.Results = other.Results
	raced.OnProgress = func(experiments.Run, []record.Epoch, string) {
		once.Do(func() {
			_, _, err := Run(t.Context(), other, studies)
			require.NoError(t, err)
		})
	}
	_, _, err = Run(t.Context(), raced, studies)
	require.ErrorContains(t, err, "has runs on other images")
	_, err = report.LoadAll(raced.Results, "")
	require.NoError(t, err, "the first one's results stay good")

	log.Reset()
	reports, diverged, err := Run(t.Context(), o, studies)
	require.NoError(t, err)
	require.NoError(t, diverged)
	require.Contains(t, log.String(), "reading 288 pictures of 12 classes")
	require.Regexp(t, `are \d+ steps, few to learn from: --epochs \d+ trains longer`, log.String())
	p := reports["smoke-own-shades"]
	require.Len(t, p.Records, 1)
	rows := p.Rows(catalogue.All[1])
	require.Len(t, rows, 1, "it is the profile's own run")
	require.Zero(t, rows[0].Paper)
	require.Empty(t, p.Claims(false), "nobody claims anything of them")
	r := rows[0].Records[0]
	require.Len(t, r.Classes, 12)
	require.Equal(t, []string{"shade 01", "shade 02"}, r.Classes[:2])
	require.Len(t, r.Labels, 2*r.Run.TestImages, "two digits an image")
	require.Contains(t, r.Command, "--pictures")

	network, free, err := Open(t.Context(), o, p.Folder, r)
	require.NoError(t, err)
	defer free()
	require.Equal(t, r.Classes, network.Classes)
	set, err := TrainedOn(t.Context(), o, r)
	require.NoError(t, err)
	require.Equal(t, r.Run.TestImages, set.Test.Len())
	unnamed := o
	unnamed.Pictures.Folder = ""
	_, err = TrainedOn(t.Context(), unnamed, r)
	require.ErrorContains(t, err, "name their folder with --pictures")

	log.Reset()
	_, _, err = Run(t.Context(), o, studies)
	require.NoError(t, err)
	require.Contains(t, log.String(), "1 of 1 runs are recorded")
	require.NotEmpty(t, p.TrialsOf(studies[0], experiments.Overrides{Seeds: 1}).Rows)
	add(3)
	_, _, err = Run(t.Context(), o, studies)
	require.ErrorContains(t, err, "has runs on other images")
	require.NotContains(t, err.Error(), "\n")
	_, err = TrainedOn(t.Context(), o, r)
	require.ErrorContains(t, err, "other pictures than those in")
}

// A network in half precision is judged on the images that its run was measured on.
func TestHalve(t *testing.T) {
	o, _ := smoke(t)
	o.HeldOut = 405 // the classes begin elsewhere than among the test images
	reports, _, err := Run(t.Context(), o, experiments.Suite{only(t, "unroll-0")})
	require.NoError(t, err)
	p := reports[folder]
	require.Len(t, p.Records, 1)
	for _, r := range p.Records {
		require.Less(t, r.TestErr, 50.0)
		changed, err := Halve(t.Context(), o, p.Folder, r)
		require.NoError(t, err)
		require.Less(t, changed, 20)
	}
}

// Unless the user says how many, as many runs train at a time as cores and memory allow.
func TestFittingJobs(t *testing.T) {
	s := Session{Options: Options{memory: 1}}
	require.GreaterOrEqual(t, s.fitting(experiments.Profile{}), min(2, device.Cores()))
	require.LessOrEqual(t, s.fitting(experiments.Profile{}), device.Cores())
	require.Equal(t, 1, s.fitting(experiments.Profile{Demo: true}), "which mostly compiles")
	s.memory = 1 << 60
	require.Equal(t, 1, s.fitting(experiments.Profile{}), "one is tried, whatever it takes")
	s = Session{Options: Options{memory: 1}, Choice: device.Choice{Name: "xla-cuda"}}
	require.Equal(t, 1, s.fitting(experiments.Profile{}), "a GPU is shared by those who ask for it")
}
