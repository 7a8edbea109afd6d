package nb

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/dataset/datasettest"
)

func TestKeep(t *testing.T) {
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	Keep("some name", tensors.FromValue([][]float32{{1, 2}, {3, 4}}))
	require.Equal(t, []float64{1, 2, 3, 4}, Values(Kept("some name")))
}

// newLab starts a lab on made digits, in a folder beside empty results.
func newLab(t *testing.T) *Lab {
	folder := t.TempDir()
	datasettest.MNIST(t, folder, 200)
	t.Setenv(dataset.EnvVar, folder)
	notebooks := filepath.Join(t.TempDir(), "notebooks")
	require.NoError(t, os.Mkdir(notebooks, 0o755))
	t.Chdir(notebooks)
	lab := NewLab("smoke", experiments.MNIST)
	t.Cleanup(lab.session.Close)
	return lab
}

// tiny is a network of one's own, which trains in a moment.
type tiny struct{}

func (tiny) Network(width int) ebssc.Network {
	return ebssc.Network{Height: 28, Width: 28, Channels: 1, Classes: 10, Classifier: ebssc.EnergySum, Layers: []ebssc.Layer{
		{Name: "conv1", Block: &ebssc.Block{Filters: width, Kernel: 3, Stride: 4, Padding: 1, Coding: ebssc.EBC}},
	}}
}

// A lab trains an experiment of one's own and finds the trained model again; other settings are another run.
func TestLabTrainsAndFinds(t *testing.T) {
	lab := newLab(t)
	e := experiments.Experiment{Name: "tiny", Title: "tiny", Architecture: tiny{},
		Settings: experiments.Settings{experiments.ParamWhiten: false, experiments.ParamFlip: 0.0, experiments.ParamCrop: 0}}
	first := lab.Train(nil, e)[0]
	require.FileExists(t, filepath.Join(own, "runs", first.ID+".json"))
	require.Len(t, LearningCurve("", first.Curve).Points, first.Run.Epochs)
	require.Equal(t, first, lab.Train(nil, e)[0], "it is not trained again")
	changed := lab.Train(experiments.Settings{ebssc.ParamBeta: 0.01}, e)[0]
	require.NotEqual(t, first.ID, changed.ID)
	found, store := lab.Model(e)
	require.Equal(t, first, found)
	require.Contains(t, found.Run.Network.Variables(store), "conv1/thresholds")
	require.True(t, lab.Decoder(found, store).Ink, "digits that are not whitened have ink")
}

// The profile's recorded run comes first, if its network is here; else a small network is trained apart from the profile's runs.
func TestLabPrefersRecordedRun(t *testing.T) {
	lab := newLab(t)
	_, e, err := experiments.Studies.Experiment("unroll-0")
	require.NoError(t, err)
	small, _ := lab.Model(e)
	require.NoDirExists(t, lab.session.Folder())

	require.NoError(t, os.Rename(own, lab.session.Folder()))
	recorded, _ := lab.Model(e)
	require.Equal(t, small, recorded)
	require.NoDirExists(t, own)

	require.NoError(t, os.RemoveAll(filepath.Join(lab.session.Folder(), "networks")))
	trained, _ := lab.Model(e)
	require.Equal(t, small.ID, trained.ID)
	require.FileExists(t, filepath.Join(own, "runs", trained.ID+".json"))
}

// A lab that has trained nothing yet can preprocess images.
func TestLabPreparesImages(t *testing.T) {
	lab := newLab(t)
	run := experiments.Run{TrainImages: 20, TestImages: 5, Settings: experiments.Settings{experiments.ParamWhiten: true}}
	images, labels, err := lab.TestImages(t.Context(), run, 3)
	require.NoError(t, err)
	require.Equal(t, []int{3, 28, 28, 1}, images.Shape().Dimensions)
	require.Equal(t, []uint8{0, 1, 2}, labels)
}

// A study without records has no rows, and its claims are not judged.
func TestNothingRecorded(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Empty(t, Rows("quick", "table"))
	require.NotEmpty(t, Claims("quick"))
}
