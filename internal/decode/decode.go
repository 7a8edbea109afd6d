// Package decode visualises trained networks as Sec. 4.2 of the paper: it decodes their codes and class biases to images,
// measures the fidelity of reconstructions and the effect of the class hypothesis, and draws the paper's figures.
package decode

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc"
	"ebsscgo/internal/tensor"
)

// Model decodes with a network and its variables, on a backend, for one caller at a time. Its program is compiled at the first use, for the fields
// as they are then; Close frees it.
type Model struct {
	Backend compute.Backend
	Network ebssc.Network
	Hyper   ebssc.Hyper
	Store   *model.Store
	// Unwhiten takes whitened images back: the inverse of the whitening's matrix, symmetric, float32 [D, D] with D = H·W·C. A whitened image y,
	// as a vector, was y Unwhiten. nil for images that are not whitened.
	Unwhiten *tensors.Tensor
	// Ink says that positive pixels are ink: digits that are not whitened.
	Ink bool
	// Batch is the number of images that are decoded at a time: the codes of all hypotheses take memory, and one program serves
	// all calls. 0 decodes all images of a call at once.
	Batch int

	exec *model.Exec
	// outputs names the program's outputs, in their order: a block's pictures, "conv1 linear", one or several for each image [N, (Y,) H, W, C], or
	// one of its measures [N].
	outputs []string
}

// BlockPictures holds the codes of one block decoded to signed pictures of H·W·C values, in the units of preprocessed images with an arbitrary norm.
type BlockPictures struct {
	// Block is the block's name.
	Block string
	// Linear and Rectified have a picture for each image: codes with zero thresholds in all blocks, which do not depend on a hypothesis, decoded by
	// the linear decoder and by the rectified one, see [ebssc.Reconstruction].
	Linear, Rectified [][]float64
	// Features have pictures for each image, one for each hypothesis: decoded codes without the thresholds' own contribution; or a single one if
	// the code does not depend on the hypothesis. See [ebssc.Decoding].
	Features [][][]float64
	// Biases are decoded class biases −ŵ_y, likewise; nil if the block has none.
	Biases [][][]float64
}

// Decode decodes preprocessed images [N, H, W, C] from every block, the lowest first. If ctx ends, Decode returns its cause.
// For each level, decoding an image takes about Y times as long as its class scores.
func (m *Model) Decode(ctx context.Context, images *tensors.Tensor) ([]BlockPictures, error) {
	all, err := m.run(ctx, images, true)
	if err != nil {
		return nil, err
	}
	var levels []BlockPictures
	for _, layer := range m.Network.Blocks() {
		byHypothesis := func(name string) (pictures [][][]float64) {
			for _, image := range all[layer.Name+" "+name] {
				pictures = append(pictures, slices.Collect(slices.Chunk(image, m.Network.Height*m.Network.Width*m.Network.Channels)))
			}
			return pictures
		}
		levels = append(levels, BlockPictures{Block: layer.Name, Linear: all[layer.Name+" "+linear], Rectified: all[layer.Name+" "+rectified],
			Features: byHypothesis(features), Biases: byHypothesis(biases)})
	}
	return levels, nil
}

// run computes the pictures of all blocks, or else their measures, for images [N, H, W, C] in batches: the values for each image. A program has one
// size of batches, so images from the first one on fill up the last batch. Thus another image follows each one there, too: its code is the control.
// If ctx ends, run returns its cause.
func (m *Model) run(ctx context.Context, images *tensors.Tensor, pictures bool) (all map[string][][]float64, err error) {
	if m.exec == nil {
		if m.exec, err = model.NewExec(m.Backend, m.Store, m.graph); err != nil {
			return nil, fmt.Errorf("building the decoding: %w", err)
		}
	}
	count := images.Shape().Dim(0)
	batch := make([]int, cmp.Or(m.Batch, count)) // numbers of images
	all = map[string][][]float64{}
	for from := 0; from < count; from += len(batch) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for i := range batch {
			batch[i] = (from + i) % count
		}
		inputs := []any{tensor.Pick(images, batch...)}
		if m.Unwhiten != nil {
			inputs = append(inputs, m.Unwhiten)
		}
		outputs, err := m.exec.Call(inputs...)
		if err != nil {
			return nil, fmt.Errorf("decoding: %w", err)
		}
		for i, t := range outputs {
			if name := m.outputs[i]; (t.Rank() > 1) == pictures {
				each := slices.Collect(slices.Chunk(tensor.Values(t), t.Shape().Size()/len(batch)))
				all[name] = append(all[name], each[:min(len(batch), count-from)]...)
			}
			if err := t.FinalizeAll(); err != nil {
				return nil, fmt.Errorf("freeing a decoding: %w", err)
			}
		}
	}
	return all, nil
}

// SetVariables gives the model the variables of another store, so that the same program decodes with them.
func (m *Model) SetVariables(other *model.Store) error {
	for name, value := range m.Network.Variables(other) {
		if err := m.Store.GetVariable(model.RootScopePath + name).SetValuePreservingOld(value); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the model's program.
func (m *Model) Close() {
	if m.exec != nil {
		m.exec.Finalize()
		m.exec = nil
	}
}
