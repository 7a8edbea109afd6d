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

// testCase is what all programs compute: a network with its hyperparameters and one batch. They read it from a folder, in
// which this program leaves the initial variables for the others.
type testCase struct {
	Network  ebssc.Network
	Settings experiments.Settings
	images   *tensors.Tensor // [N, H, W, C], standard normal
	labels   *tensors.Tensor // [N]
}

// The files of a case.
const (
	caseFile      = "case.json"
	batchFile     = "batch.npz"
	variablesFile = "variables.npz"
)

// newCase is an experiment at a size, with the recipe's hyperparameters.
func newCase(e experiments.Experiment, size Size) testCase {
	c := testCase{Network: e.Network(size.Width), Settings: experiments.Recipe.With(e.Settings)}
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
	c.labels = tensors.FromValue(labels)
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
	if err != nil {
		return c, err
	}
	c.images, c.labels = batch["images"], batch["labels"]
	return c, nil
}
