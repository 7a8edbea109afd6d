package notebook

import (
	"bytes"
	"errors"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/experiments/data"
	"ebsscgo/experiments/figures"
	"ebsscgo/experiments/training"
)

func TestOneLine(t *testing.T) {
	require.Equal(t, "no plugin; it is not there", oneLine(errors.New("no plugin\n\tit is not there\n")))
}

func TestPhotoLevels(t *testing.T) {
	photo := Photo([]float64{-1, 0, 1, 9}, 1, 4, 1, -1, 1)
	require.Equal(t, color.NRGBA{0, 0, 0, 255}, photo.At(0, 0))
	require.Equal(t, color.NRGBA{128, 128, 128, 255}, photo.At(1, 0))
	require.Equal(t, color.NRGBA{255, 255, 255, 255}, photo.At(2, 0))
	require.Equal(t, photo.At(2, 0), photo.At(3, 0), "beyond white is white")
	require.Equal(t, color.NRGBA{255, 0, 128, 255}, Photo([]float64{1, -1, 0}, 1, 1, 3, -1, 1).At(0, 0))
}

// Positive numbers are red and negative ones blue, equally strong at equal distance from 0.
func TestMapColours(t *testing.T) {
	picture := Map([]float64{0, 0.5, 2, -0.5}, 2, 2, 1)
	at := func(x, y int) color.NRGBA { return picture.At(x, y).(color.NRGBA) }
	require.Equal(t, color.NRGBA{255, 255, 255, 255}, at(0, 0))
	require.Greater(t, at(1, 0).R, at(1, 0).B)
	require.Equal(t, color.NRGBA{0xb2, 0x18, 0x2b, 255}, at(0, 1), "cut off at the limit")
	require.Greater(t, at(1, 1).B, at(1, 1).R)
}

// drawn is a figure's picture, as wide as the figure says.
func drawn(t *testing.T, figure figures.Figure) (share func(color.NRGBA) float64) {
	content, err := figure.PNG()
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(content))
	require.NoError(t, err)
	bounds := picture.Bounds()
	require.InDelta(t, float64(figure.Width)*2, bounds.Dx(), 2)
	return func(wanted color.NRGBA) float64 {
		count := 0
		for y := range bounds.Dy() {
			for x := range bounds.Dx() {
				if color.NRGBAModel.Convert(picture.At(x, y)) == wanted {
					count++
				}
			}
		}
		return float64(count) / float64(bounds.Dx()*bounds.Dy())
	}
}

// Each tile is there, in full and once.
func TestTiles(t *testing.T) {
	red, blue := color.NRGBA{0xb2, 0x18, 0x2b, 255}, color.NRGBA{0x21, 0x66, 0xac, 255}
	figure := Tiles("", 2, 50, Tile{Picture: Map([]float64{1}, 1, 1, 1)}, Tile{Picture: Map([]float64{1}, 1, 1, 1)},
		Tile{Picture: Map([]float64{-1}, 1, 1, 1)})
	share := drawn(t, figure)
	tile := 50 * 50 / float64(figure.Width*figure.Height)
	require.InDelta(t, 2*tile, share(red), 0.1*tile)
	require.InDelta(t, tile, share(blue), 0.1*tile)
}

// Titles and captions have room of their own.
func TestTilesGrowWithText(t *testing.T) {
	tile := Tile{Picture: Map([]float64{1}, 1, 1, 1)}
	plain := Tiles("", 1, 50, tile)
	titled := Tiles("a title that is wider than a tile", 1, 50, tile)
	require.Greater(t, titled.Width, plain.Width)
	require.Greater(t, titled.Height, plain.Height)
	tile.Caption = "caption"
	require.Greater(t, Tiles("", 1, 50, tile).Height, plain.Height)
}

func TestDotsLeaveOutWhatIsMissing(t *testing.T) {
	ink := func(values ...Value) float64 {
		return drawn(t, Dots("title", "axis", []string{"a", "b"}, Series{Values: values}))(color.NRGBAModel.Convert(Hue(0)).(color.NRGBA))
	}
	both := ink(Value{Value: 1}, Value{Value: 2})
	require.Positive(t, both)
	require.InDelta(t, both/2, ink(Value{Value: 1}, Value{Value: math.NaN()}), 0.05*both)
	require.Greater(t, ink(Value{Value: 1, Low: 0.5, High: 1.5}, Value{Value: 2}), 1.2*both, "with an interval")
}

func TestRoundTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		labels    []string
	}{
		{-3, 3, []string{"-3", "-2", "-1", "0", "1", "2", "3"}},
		{0.01, 0.31, []string{"0.05", "0.1", "0.15", "0.2", "0.25", "0.3"}},
		{5, 5, nil},
	} {
		var labels []string
		for _, tick := range (roundTicks{}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, c.labels, labels)
	}
}

func TestKeep(t *testing.T) {
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	Keep("some name", tensors.FromValue([][]float32{{1, 2}, {3, 4}}))
	require.Equal(t, []float64{1, 2, 3, 4}, Values(Kept("some name")))
	require.Equal(t, []float64{5}, Values(tensors.FromValue([]float64{5})))
}

// tiny is an experiment on images of 8×8, which trains in a moment.
type tiny struct{}

func (tiny) Network(width int) ebssc.Network {
	return ebssc.Network{Height: 8, Width: 8, Channels: 1, Classes: 10, Classifier: ebssc.EnergySum, Layers: []ebssc.Layer{
		{Name: "conv1", Block: &ebssc.Block{Filters: width, Kernel: 3, Stride: 2, Padding: 1, Coding: ebssc.EBC}},
	}}
}

// noise are images of nothing.
func noise(count int) data.Images {
	images := data.Images{Height: 8, Width: 8, Channels: 1, Pixels: make([]uint8, count*64), Labels: make([]uint8, count)}
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
		Lab:    training.Lab{Backend: opened, Set: &data.Set{Name: "noise", SHA256: "0", Train: noise(200), Test: noise(100)}},
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
