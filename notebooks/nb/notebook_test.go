package nb

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/train"
)

func TestKeep(t *testing.T) {
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	Keep("some name", tensors.FromValue([][]float32{{1, 2}, {3, 4}}))
	require.Equal(t, []float64{1, 2, 3, 4}, plot.Values(Kept("some name")))
	require.Equal(t, []float64{5}, plot.Values(tensors.FromValue([]float64{5})))
}

// tiny is an experiment on images of 8×8, which trains in a moment.
type tiny struct{}

func (tiny) Network(width int) ebssc.Network {
	return ebssc.Network{Height: 8, Width: 8, Channels: 1, Classes: 10, Classifier: ebssc.EnergySum, Layers: []ebssc.Layer{
		{Name: "conv1", Block: &ebssc.Block{Filters: width, Kernel: 3, Stride: 2, Padding: 1, Coding: ebssc.EBC}},
	}}
}

// noise are images of nothing.
func noise(count int) dataset.Images {
	images := dataset.Images{Height: 8, Width: 8, Channels: 1, Pixels: make([]uint8, count*64), Labels: make([]uint8, count)}
	for i := range images.Pixels {
		images.Pixels[i] = uint8(i * i % 251)
	}
	for i := range images.Labels {
		images.Labels[i] = uint8(i % 10)
	}
	return images
}

// What a lab trains is found again, apart from the profile's own runs, which come first.
func TestLabTrainsAndFinds(t *testing.T) {
	opened, choice := open()
	defer opened.Finalize()
	lab := &Lab{
		Lab:    train.Lab{Backend: opened, Set: &dataset.Set{Name: "noise", SHA256: "0", Train: noise(200), Test: noise(100)}},
		Images: experiments.MNIST, Results: t.TempDir(), backend: choice.Name,
	}
	e := experiments.Experiment{Name: "tiny", Title: "tiny", Architecture: tiny{},
		Settings: experiments.Settings{experiments.ParamWhiten: false, experiments.ParamFlip: 0.0, experiments.ParamCrop: 0}}
	smoke, err := experiments.FindProfile("smoke")
	require.NoError(t, err)
	quick, err := experiments.FindProfile("quick")
	require.NoError(t, err)

	results := lab.Train(smoke, nil, e)
	require.Len(t, results, 1)
	require.DirExists(t, filepath.Join(lab.Results, "notebooks", "runs", results[0].ID))
	changed := lab.Train(smoke, experiments.Settings{ebssc.ParamBeta: 0.01}, e)
	require.NotEqual(t, results[0].ID, changed[0].ID)

	found, store := lab.Model(quick, e)
	require.Equal(t, results[0].ID, found.ID, "what is recorded for no profile is trained at smoke")
	require.Contains(t, found.Run.Network.Variables(store), "conv1/thresholds")

	recorded := filepath.Join(lab.Results, "quick", "runs", changed[0].ID)
	require.NoError(t, os.CopyFS(recorded, os.DirFS(filepath.Join(lab.Results, "notebooks", "runs", changed[0].ID))))
	found, _ = lab.Model(quick, e)
	require.Equal(t, changed[0].ID, found.ID)
}

// digits writes MNIST's four files with images of noise, count of them for training and for testing.
func digits(t *testing.T, count int) (folder string) {
	folder = t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, part := range []string{"train", "t10k"} {
		images := []byte{0, 0, 8, 3, 0, 0, 0, byte(count), 0, 0, 0, 28, 0, 0, 0, 28}
		labels := []byte{0, 0, 8, 1, 0, 0, 0, byte(count)}
		for i := range count {
			labels = append(labels, byte(i%10))
			for range 28 * 28 {
				images = append(images, byte(rng.Uint32()))
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, part+"-images-idx3-ubyte"), images, 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(folder, part+"-labels-idx1-ubyte"), labels, 0o644))
	}
	return folder
}

// A lab that has trained nothing yet can preprocess images.
func TestLabPreparesImages(t *testing.T) {
	t.Setenv(dataset.EnvVar, digits(t, 20))
	lab := NewLab(experiments.MNIST)
	defer lab.Backend.Finalize()
	run := experiments.Run{TrainImages: 20, TestImages: 5, Settings: experiments.Settings{experiments.ParamWhiten: true}}
	images, labels, err := lab.TestImages(t.Context(), run, 3)
	require.NoError(t, err)
	require.Equal(t, []int{3, 28, 28, 1}, images.Shape().Dimensions)
	require.Equal(t, []uint8{0, 1, 2}, labels)
}
