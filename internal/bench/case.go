package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

// Size of a measured network: Batch images, and Width filters in the first block.
type Size struct{ Batch, Width int }

// String is the batch and the width: "32x96".
func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Batch, s.Width) }

// The largest size that is measured: larger ones would not fit into memory.
const maxBatch, maxWidth = 1 << 12, 1 << 10

// ParseSize reads a size such as "32x96": batch 32, width 96.
func ParseSize(text string) (size Size, err error) {
	_, err = fmt.Sscanf(text, "%dx%d", &size.Batch, &size.Width)
	if err != nil || size.Batch < 1 || size.Width < 1 || size.String() != text {
		return Size{}, fmt.Errorf("size %q: want the batch and the width, as 32x96", text)
	}
	if size.Batch > maxBatch || size.Width > maxWidth {
		return Size{}, fmt.Errorf("size %s is too large: choose batches of up to %d and widths of up to %d", text, maxBatch, maxWidth)
	}
	return size, nil
}

// The usual sizes. On CIFAR-10: the paper's width in small batches, and a quarter of it in the paper's batches. Networks on MNIST are
// small: they are measured as profile quick trains them.
var (
	cifarSizes = []Size{{32, experiments.PaperWidth}, {128, experiments.PaperWidth / 4}}
	mnistSizes = []Size{{100, 8}}
)

// usualSizes are the sizes at which an experiment is measured by default.
func usualSizes(e experiments.Experiment) []Size {
	if e.Network(1).Channels == 1 {
		return mnistSizes
	}
	return cifarSizes
}

// testCase is what all programs compute: a network with its hyperparameters and one batch. They read it from a folder, to which
// this program adds the initial variables for the others.
type testCase struct {
	Network    ebssc.Network
	Settings   experiments.Settings
	experiment string
	size       Size
	images     *tensors.Tensor // [N, H, W, C], standard normal
	labels     *tensors.Tensor // [N, 1]
}

// The files of a case.
const (
	caseFile      = "case.json"
	batchFile     = "batch.npz"
	variablesFile = "variables.npz"
)

// newCase is an experiment at a size, with the recipe's hyperparameters.
func newCase(e experiments.Experiment, size Size) testCase {
	c := testCase{Network: e.Network(size.Width), Settings: experiments.Recipe.With(e.Settings), experiment: e.Name, size: size}
	rng := rand.New(rand.NewPCG(1, 2))
	pixels := make([]float32, size.Batch*c.Network.Height*c.Network.Width*c.Network.Channels)
	for i := range pixels {
		pixels[i] = float32(rng.NormFloat64())
	}
	labels := make([]int32, size.Batch)
	for i := range labels {
		labels[i] = rng.Int32N(int32(c.Network.Classes))
	}
	c.images = tensors.FromFlatDataAndDimensions(pixels, size.Batch, c.Network.Height, c.Network.Width, c.Network.Channels)
	c.labels = tensors.FromFlatDataAndDimensions(labels, size.Batch, 1)
	return c
}

// write writes the case into a folder, without its variables.
func (c testCase) write(folder string) error {
	description, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, caseFile), description, 0o644); err != nil {
		return err
	}
	return numpy.ToNpzFile(map[string]*tensors.Tensor{"images": c.images, "labels": c.labels}, filepath.Join(folder, batchFile))
}

// readCase reads what write wrote.
func readCase(folder string) (c testCase, err error) {
	description, err := os.ReadFile(filepath.Join(folder, caseFile))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(description, &c); err != nil {
		return c, fmt.Errorf("%s: %w", filepath.Join(folder, caseFile), err)
	}
	batch, err := numpy.FromNpzFile(filepath.Join(folder, batchFile))
	c.images, c.labels = batch["images"], batch["labels"]
	return c, err
}
