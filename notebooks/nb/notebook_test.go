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
	return ebssc.Network{Height: 28, Width: 28, Channels: 1, Classes: 10, Classifier: ebssc.EnergySum, Layers: []ebssc.Layer{
		{Name: "conv1", Block: &ebssc.Block{Filters: width, Kernel: 3, Stride: 4, Padding: 1, Coding: ebssc.EBC}},
	}}
}

// A lab trains an experiment of one's own once; other hyperparameters make another run. Of a declared experiment it finds the profile's recorded
// network, if that is here; else it trains a small one, apart from the profile's runs.
func TestLab(t *testing.T) {
	data, notebooks := t.TempDir(), filepath.Join(t.TempDir(), "notebooks")
	datasettest.MNIST(t, data, 1000)
	t.Setenv(dataset.EnvVar, data)
	t.Setenv("EBSSC_PROFILE", "smoke")
	require.NoError(t, os.Mkdir(notebooks, 0o755))
	t.Chdir(notebooks)
	lab := NewLab(experiments.MNIST)
	e := experiments.Experiment{Name: "tiny", Title: "tiny", Architecture: tiny{},
		Change: func(h *experiments.Hyper) { h.Preprocessing, h.Flip, h.Crop = experiments.Raw, 0, 0 }}
	first := lab.Train(Profile(), "", e)[0]
	require.Len(t, LearningCurve("", first.Curve).Points, first.Run.Epochs)
	require.Equal(t, first, lab.Train(Profile(), "", e)[0], "it is not trained again")
	require.NotEqual(t, first.ID, lab.Train(Profile(), "beta=0.01", e)[0].ID)

	folder := filepath.Join(Results, dataset.Folder("smoke", lab.Set.Name))
	_, small, store := Trained("unroll-0")
	require.Contains(t, small.Run.Network.Variables(store), "conv2/thresholds")
	require.NoDirExists(t, folder)
	require.NoError(t, os.Remove(record.Path(filepath.Join(own, record.Folder), first.ID)))
	require.NoError(t, os.Rename(own, folder))
	found, recorded, store := Trained("unroll-0")
	require.Equal(t, small, recorded)
	require.NoDirExists(t, filepath.Join(own, record.Folder))
	require.True(t, found.Decoder(recorded, store).Ink, "digits that are not whitened have ink")
	images, labels := found.FirstImages(recorded, 3, 4)
	require.Equal(t, []int{5, 28, 28, 1}, images.Shape().Dimensions)
	require.Equal(t, []uint8{0, 1, 2, 3, 4}, labels)
}

// A study without records has no rows, and its claims are not judged.
func TestNothingRecorded(t *testing.T) {
	t.Chdir(t.TempDir())
	p, study := Reports("quick", "table")
	require.Empty(t, p.Rows(study))
	require.Empty(t, p.Table(study).Rows)
	require.Empty(t, p.Claims())
}
