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
	// outputs names the program's outputs, in their order.
	outputs []output
}

// output names an output of the program: a block's pictures, one or several for each image [N, (Y,) H, W, C], or one of its measures [N].
type output struct{ block, name string }

// Level holds the codes of one block decoded to signed images, in the units of preprocessed images with an arbitrary norm.
type Level struct {
	// Block is the block's name.
	Block string
	// Reconstructions and RectifiedReconstructions [N, H, W, C] are codes with zero thresholds in all blocks, which do not depend on a hypothesis,
	// decoded by the linear decoder and by the rectified one, see [ebssc.Reconstruction].
	Reconstructions, RectifiedReconstructions *tensors.Tensor
	// Features are decoded codes under each hypothesis without the thresholds' own contribution, [N, Y, H, W, C]; or
	// [N, H, W, C] if the code does not depend on the hypothesis. See [ebssc.Decoding].
	Features *tensors.Tensor
	// Biases are decoded class biases −ŵ_y, [N, Y, H, W, C]; nil if the block has none.
	Biases *tensors.Tensor
}

// Decode decodes preprocessed images [N, H, W, C] from every block, the lowest first. If ctx ends, Decode returns its cause.
// For each level, decoding an image takes about Y times as long as its class scores.
func (m *Model) Decode(ctx context.Context, images *tensors.Tensor) ([]Level, error) {
	all, err := m.run(ctx, images, true)
	if err != nil {
		return nil, err
	}
	var levels []Level
	for _, layer := range m.Network.Blocks() {
		levels = append(levels, Level{
			Block: layer.Name, Reconstructions: all[output{layer.Name, linear}], RectifiedReconstructions: all[output{layer.Name, rectified}],
			Features: all[output{layer.Name, features}], Biases: all[output{layer.Name, biases}],
		})
	}
	return levels, nil
}

// run computes the pictures of all blocks, or else their measures, for images [N, H, W, C] in batches. A program has one size of batches, so
// images from the first one on fill up the last batch. Thus another image follows each one there, too: its code is the control.
// If ctx ends, run returns its cause.
func (m *Model) run(ctx context.Context, images *tensors.Tensor, pictures bool) (map[output]*tensors.Tensor, error) {
	if m.exec == nil {
		exec, err := model.NewExec(m.Backend, m.Store, m.graph)
		if err != nil {
			return nil, fmt.Errorf("building the decoding: %w", err)
		}
		m.exec = exec
	}
	flat, err := tensors.CopyFlatData[float32](images)
	if err != nil {
		return nil, fmt.Errorf("reading images: %w", err)
	}
	dims := slices.Clone(images.Shape().Dimensions)
	count, size := dims[0], len(flat)/dims[0]
	dims[0] = cmp.Or(m.Batch, count)
	values, shapes := map[output][]float32{}, map[output][]int{}
	for from := 0; from < count; from += dims[0] {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var batch []float32
		for image := from; image < from+dims[0]; image++ {
			batch = append(batch, flat[image%count*size:][:size]...)
		}
		inputs := []any{tensors.FromFlatDataAndDimensions(batch, dims...)}
		if m.Unwhiten != nil {
			inputs = append(inputs, m.Unwhiten)
		}
		outputs, err := m.exec.Call(inputs...)
		if err != nil {
			return nil, fmt.Errorf("decoding: %w", err)
		}
		for i, t := range outputs {
			if o := m.outputs[i]; (t.Rank() > 1) == pictures {
				decoded, err := tensors.CopyFlatData[float32](t)
				if err != nil {
					return nil, fmt.Errorf("reading a decoding: %w", err)
				}
				values[o] = append(values[o], decoded[:len(decoded)/dims[0]*min(dims[0], count-from)]...)
				shapes[o] = append([]int{count}, t.Shape().Dimensions[1:]...)
			}
			if err := t.FinalizeAll(); err != nil {
				return nil, fmt.Errorf("freeing a decoding: %w", err)
			}
		}
	}
	all := map[output]*tensors.Tensor{}
	for o, decoded := range values {
		all[o] = tensors.FromFlatDataAndDimensions(decoded, shapes[o]...)
	}
	return all, nil
}

// SetVariables gives the model the variables of another store, so that the same program decodes with them.
func (m *Model) SetVariables(other *model.Store) error {
	for v := range other.IterVariables() {
		value, err := v.Value()
		if own := m.Store.GetVariable(v.Path()); own != nil && err == nil {
			err = own.SetValuePreservingOld(value)
		}
		if err != nil {
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
