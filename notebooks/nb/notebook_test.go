package nb

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/cache/cachetest"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/device"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/pipeline"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

func TestKeep(t *testing.T) {
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	Keep("some name", tensors.FromValue([]float64{1, 2, 3, 4}))
	require.Equal(t, []float64{1, 2, 3, 4}, Kept("some name").Value())
}

// tiny is a network of one's own, which trains in a moment.
type tiny struct{}

func (tiny) Network(width int) ebssc.Network {
	return ebssc.Network{Height: 28, Width: 28, Channels: 1, Classes: 10, Classifier: ebssc.EnergySum,
		Layers: []ebssc.Layer{{Name: "conv1", Block: &ebssc.Block{
			Filters: width, Kernel: 3, Stride: 4, Padding: 1, Coding: ebssc.EBC}}}}
}

// Notebooks train an experiment of one's own once; other hyperparameters make another run. Of a
// declared experiment they find the profile's recorded network, if that is here; else they train a
// small one, apart from the profile's runs.
func TestNetworks(t *testing.T) {
	data, notebooks := t.TempDir(), filepath.Join(t.TempDir(), "notebooks")
	datasettest.MNIST(t, data, 1000)
	t.Setenv(dataset.EnvVar, data)
	t.Setenv("EBSSC_PROFILE", "smoke")
	require.NoError(t, os.Mkdir(notebooks, 0o755))
	t.Chdir(notebooks)
	e := experiments.Experiment{Name: "tiny", Title: "tiny", Architecture: tiny{},
		Change: func(h *experiments.Hyper) { h.Preprocessing, h.Flip, h.Crop = experiments.Raw, 0, 0 }}
	o := pipeline.Options{Profile: "smoke"}
	first := Train(o, e)[0][0]
	require.Len(t, first.Curve, first.Run.Epochs)
	o.Seeds = 2
	both := Train(o, e)[0]
	require.Equal(t, first, both[0], "it is not trained again")
	require.Equal(t, 2, both[1].Run.Seed)
	o.Set = "learning_rate=1e-9" // which trains nothing
	other := Train(o, e)[0]
	require.NotEqual(t, first.ID, other[0].ID)
	estimates := Differences(both, other)
	difference := (both[0].TestErr + both[1].TestErr - other[0].TestErr - other[1].TestErr) / 2
	require.InDelta(t, difference, estimates[0].Value, 1e-9)
	step := Step(both, other)
	require.InDelta(t, difference, step.Mean, 1e-9)
	require.InDelta(t, (other[0].TrainErr+other[1].TrainErr)/2, step.X, 1e-9)
	require.Less(t, step.Low, step.High)
	runner, small, store := Trained("unroll-0")
	require.Contains(t, small.Run.Network.Variables(store), "conv2/thresholds")
	folder := dataset.Folder("smoke", runner.Set.Name)
	require.NoDirExists(t, filepath.Join(results, folder))
	require.NoError(t, os.Rename(filepath.Join(ownResults, folder), filepath.Join(results, folder)))
	runner, recorded, _ := Trained("unroll-0")
	require.Equal(t, small, recorded)
	images, labels := FirstImages(runner, recorded, 3, 4)
	require.Equal(t, []int{5, 28, 28, 1}, images.Shape().Dimensions)
	require.Equal(t, []uint16{0, 1, 2, 3, 4}, labels)
	t.Setenv("EBSSC_PROFILE", "")
	_, recorded, _ = Trained("unroll-0")
	require.NoDirExists(t, filepath.Join(ownResults, folder), "it was found each time")
	require.Contains(t, Describe(recorded), "profile smoke, 1000 images")
	require.Contains(t, Describe(recorded), "stands in for the one of profile quick")
}

// The curves of a hundred runs stay readable: without a legend.
func TestManyRuns(t *testing.T) {
	_, e, err := catalogue.All.Experiment("relu-lc7")
	require.NoError(t, err)
	set := experiments.CIFAR10.Declared()
	for seeds, named := range map[int]bool{mostNamed: true, 100: false} {
		runs, err := experiments.Plan(alone(e), Must(experiments.FindProfile("smoke")), set,
			experiments.Overrides{Seeds: seeds})
		require.NoError(t, err)
		p := &progress{all: []experiments.Experiment{e}}
		p.begin(runs)
		for i, run := range runs {
			epoch := record.Epoch{Step: run.StepsPerEpoch() / 2, BatchErr: float64(i)}
			require.Equal(t, i, p.curve(run, []record.Epoch{epoch}))
			require.Equal(t, named, p.drawing.Curves[i].Name != "")
			require.Equal(t, 0.5, math.Round(20*p.drawing.Curves[i].Points[0].X)/20)
		}
		_, err = Must(plot.Charts(p.drawing)).PNG()
		require.NoError(t, err)
	}
}

// Where CIFAR-10 cannot be had, notebooks read the records of the stand-in, and the committed ones
// if it has none.
func TestReportsOfStandIn(t *testing.T) {
	committed, err := filepath.Abs("../../results/quick/runs")
	require.NoError(t, err)
	notebooks := filepath.Join(t.TempDir(), "notebooks")
	require.NoError(t, os.Mkdir(notebooks, 0o755))
	t.Chdir(notebooks)
	t.Setenv(dataset.EnvVar, "")
	t.Setenv(cache.EnvVar, t.TempDir()) // without data sets
	for _, folder := range []string{"quick", "quick-mnist32"} {
		records := filepath.Join(results, folder, record.Folder)
		require.NoError(t, os.CopyFS(records, os.DirFS(committed)))
		p, table := Reports("quick", "table")
		require.Equal(t, filepath.Join(results, folder), p.Folder)
		require.Len(t, p.Table(table).Rows, 5)
	}
}

// One's own row is of a study on the images that it names, if there is one.
func TestOwnRowsOnOtherImages(t *testing.T) {
	row := experiments.Experiment{Name: "own",
		Architecture: experiments.SevenBlocks{Body: ebssc.SSC, Images: experiments.FashionMNIST}}
	require.Equal(t, experiments.FashionMNIST, alone(row).Images)
	row.Architecture = experiments.SevenBlocks{Body: ebssc.SSC, Images: "Letters"}
	_, err := experiments.Plan(alone(row), Must(experiments.FindProfile("smoke")),
		experiments.CIFAR10.Declared(), experiments.Overrides{})
	require.ErrorContains(t, err, "own reads Letters, and study table is on CIFAR-10")
}

// A folder in which every user may put code is not the notebooks' environment.
func TestEnvironmentIsOnesOwn(t *testing.T) {
	require.FileExists(t, "../environment.sh") // so that a result is not taken for another script's
	open := filepath.Join(t.TempDir(), "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	require.NoError(t, os.Chmod(open, 0o777))
	command := exec.Command("bash", "../run.sh")
	command.Env = append(os.Environ(), "EBSSC_CACHE="+filepath.Join(open, "cache"))
	output, err := command.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "every user may write to "+open)
}

// scripts copies the notebooks' scripts into a new project in which stubs stand for what they build
// and install: they write what they are called with. It returns the folder, and how to call one.
func scripts(t *testing.T) (
	project string, call func(script string, environment ...string) (string, error)) {
	project = t.TempDir()
	cache, tools := filepath.Join(t.TempDir(), "cache"), t.TempDir()
	for _, name := range []string{"environment.sh", "start.sh", "run.sh", "requirements.txt"} {
		filetest.Copy(t, filepath.Join("..", name), filepath.Join(project, "notebooks", name))
	}
	sum := exec.Command("cksum")
	sum.Stdin = strings.NewReader(filetest.Read(t, "../requirements.txt"))
	out, err := sum.Output()
	require.NoError(t, err)
	installed := filepath.Join(cache, "notebooks-"+strings.Fields(string(out))[0])
	filetest.Write(t, filepath.Join(installed, "complete"), "")
	for path, commands := range map[string]string{
		filepath.Join(project, "build.sh"):        "exit ${BUILD:-0}",
		filepath.Join(project, "bin", "ebssc"):    "exit 0",
		filepath.Join(project, "bin", "gonb"):     "exit 0",
		filepath.Join(tools, "go"):                "exit ${CELLS:-0}",
		filepath.Join(installed, "bin", "python"): `[ "$1" = - ] || echo "$JUPYTER_DATA_DIR: $@"`,
	} {
		filetest.WriteScript(t, path, commands)
	}
	return project, func(script string, environment ...string) (string, error) {
		words := strings.Fields(script)
		cmd := exec.Command(filepath.Join(project, "notebooks", words[0]), words[1:]...)
		path := tools + string(os.PathListSeparator) + os.Getenv("PATH")
		cmd.Env = append(append(os.Environ(), "EBSSC_CACHE="+cache, "PATH="+path), environment...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// The scripts end where something could not be built, and go on where all could. Root is served on
// this machine alone, and told at once where that is not meant.
func TestScripts(t *testing.T) {
	project, call := scripts(t)
	said, err := call("start.sh --no-browser")
	require.NoError(t, err, said)
	require.Contains(t, said, "-m jupyterlab --notebook-dir="+project)
	require.Equal(t, os.Geteuid() == 0, strings.Contains(said, "--allow-root --no-browser"), said)
	said, err = call("start.sh --register", "JUPYTER_DATA_DIR=/own")
	require.NoError(t, err, said)
	require.Contains(t, said, "/own: -m jupyter kernelspec install")
	said, err = call("start.sh --unregister", "JUPYTER_DATA_DIR=")
	require.NoError(t, err, said)
	require.Contains(t, said, "\n: -m jupyter kernelspec remove -f ebsscgo")
	for _, failing := range []string{"BUILD=1", "CELLS=1"} {
		said, err := call("start.sh", failing)
		require.Error(t, err, failing)
		require.Regexp(t, `start\.sh: .* could not be built; see above\n$`, said)
	}
	said, err = call("start.sh", "HOME=", "EBSSC_CACHE=", "XDG_CACHE_HOME=")
	require.Error(t, err)
	require.Regexp(t, `^start\.sh: .* set HOME to a folder of your own\n$`, said)
	if os.Geteuid() == 0 {
		for _, ip := range []string{"--ip=0.0.0.0", "--ip 0.0.0.0", "--ServerApp.ip=0.0.0.0"} {
			said, err = call("start.sh " + ip)
			require.Error(t, err)
			require.Regexp(t, `^start\.sh: JupyterLab does not serve root .* add --allow-root\n$`, said)
		}
		said, err = call("start.sh --ip=0.0.0.0 --allow-root")
		require.NoError(t, err, said)
	}
}

// A disk on which nothing can be executed is named, with the variable for another one.
func TestScriptsOnNoexec(t *testing.T) {
	_, call := scripts(t)
	disk := cachetest.Disk(t, 256)
	require.NoError(t, exec.Command("mount", "-o", "remount,noexec", disk).Run())
	for _, variable := range []string{"TMPDIR", "EBSSC_CACHE"} {
		said, err := call("run.sh", variable+"="+disk)
		require.Error(t, err)
		require.Contains(t, said, "("+disk+") mounted noexec? Set "+variable+" to one")
	}
	cachetest.ReadOnly(t, disk) // on which the environment's folder is by now
	said, err := call("run.sh", "EBSSC_CACHE="+disk)
	require.Error(t, err)
	require.Regexp(t, `^run\.sh: \S+ cannot be written to: set EBSSC_CACHE to .*\n$`, said)
	said, err = call("run.sh", "EBSSC_CACHE="+filepath.Join(disk, "new"))
	require.Error(t, err)
	require.Regexp(t, `^run\.sh: \S+ cannot be made: set EBSSC_CACHE to .*\n$`, said)
}

func TestShrinkage(t *testing.T) {
	backend, _, err := device.Open(t.Context(), "cpu")
	require.NoError(t, err)
	defer backend.Finalize()
	figure, err := Shrinkage(backend)
	require.NoError(t, err)
	svg, err := figure.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), "improper")
}
