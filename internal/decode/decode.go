// Package decode visualises trained networks as Sec. 4.2 of the paper: it decodes their codes and
// class biases to images, measures the fidelity of reconstructions and the effect of the class
// hypothesis, and draws the paper's figures.
package decode

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc"
	"ebsscgo/internal/tensor"
)

// Model decodes with a network and its variables, on a backend, for one caller at a time. Its
// program is compiled at the first use, for the fields as they are then; Close frees it.
type Model struct {
	Backend compute.Backend
	Network ebssc.Network
	Hyper   ebssc.Hyper
	Store   *model.Store
	// Unwhiten takes whitened images back: the inverse of the whitening's matrix, symmetric, float32
	// [D, D] with D = H·W·C. A whitened image y, as a vector, was y Unwhiten. nil for images that are
	// not whitened.
	Unwhiten *tensors.Tensor
	// Ink says that positive pixels are ink: digits that are not whitened.
	Ink bool
	// Batch is the number of images that are decoded at a time: the codes of all hypotheses take
	// memory, and one program serves all calls. 0 decodes all images of a call at once.
	Batch int

	exec *model.Exec
	// nodes are the program's outputs, of each block.
	nodes []outputs[*Node]
}

// BlockPictures holds the codes of one block decoded to signed pictures of H·W·C values, in the
// units of preprocessed images with an arbitrary norm.
type BlockPictures struct {
	// Block is the block's name.
	Block string
	// Linear and Rectified have a picture for each image: codes with zero thresholds in all blocks,
	// which do not depend on a hypothesis, decoded by the linear decoder and by the rectified one, see
	// [ebssc.Reconstruction].
	Linear, Rectified [][]float64
	// Features have pictures for each image, one for each hypothesis: decoded codes without the
	// thresholds' own contribution; or a single one if the code does not depend on the hypothesis. See
	// [ebssc.Decoding].
	Features [][][]float64
	// Biases are decoded class biases −ŵ_y, likewise; nil if the block has none.
	Biases [][][]float64
}

// Decode decodes preprocessed images [N, H, W, C] from every block, the lowest first. If ctx ends,
// Decode returns its cause. For each level, decoding an image takes about Y times as long as its
// class scores.
func (m *Model) Decode(ctx context.Context, images *tensors.Tensor) ([]BlockPictures, error) {
	decoded, err := m.run(ctx, images, (*outputs[byImage]).pictures)
	size := m.Network.Height * m.Network.Width * m.Network.Channels
	byHypothesis := func(images byImage) (pictures [][][]float64) {
		for _, image := range images {
			pictures = append(pictures, slices.Collect(slices.Chunk(image, size)))
		}
		return pictures
	}
	var levels []BlockPictures
	for i, o := range decoded {
		levels = append(levels, BlockPictures{Block: m.Network.Blocks()[i].Name,
			Linear: o.linear, Rectified: o.rectified,
			Features: byHypothesis(o.features), Biases: byHypothesis(o.biases)})
	}
	return levels, err
}

// byImage has the values of an output for each image; nil if the block has no such output.
type byImage [][]float64

// run decodes images [N, H, W, C] in batches, and returns of each block the outputs that wanted
// picks.
//
// A program has one size of batches, so images from the first one on fill up the last batch. Thus
// another image follows each one there, too: its code is the control. If ctx ends, run returns its
// cause.
func (m *Model) run(ctx context.Context, images *tensors.Tensor,
	wanted func(*outputs[byImage]) []*byImage) (blocks []outputs[byImage], err error) {
	if m.exec == nil {
		if m.exec, err = model.NewExec(m.Backend, m.Store, m.graph); err != nil {
			return nil, fmt.Errorf("building the decoding: %w", err)
		}
	}
	blocks = make([]outputs[byImage], len(m.Network.Blocks()))
	count := images.Shape().Dim(0)
	batch := make([]int, cmp.Or(m.Batch, count)) // numbers of images
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
		computed, err := m.exec.Call(inputs...)
		if err != nil {
			return nil, fmt.Errorf("decoding: %w", err)
		}
		for block := range m.nodes {
			fields, kept := blocks[block].fields(), wanted(&blocks[block])
			for i, node := range m.nodes[block].fields() {
				if *node == nil {
					continue
				}
				if slices.Contains(kept, fields[i]) {
					values := tensor.Values(computed[0])
					each := slices.Collect(slices.Chunk(values, len(values)/len(batch)))
					*fields[i] = append(*fields[i], each[:min(len(batch), count-from)]...)
				}
				if err := computed[0].FinalizeAll(); err != nil {
					return nil, fmt.Errorf("freeing a decoding: %w", err)
				}
				computed = computed[1:]
			}
		}
	}
	return blocks, nil
}

// SetVariables sets the model's variables, by their names, so that the same program decodes with
// them. It frees no former value.
func (m *Model) SetVariables(values map[string]*tensors.Tensor) error {
	for name, value := range values {
		variable := m.Store.GetVariable(model.RootScopePath + name)
		if err := variable.SetValuePreservingOld(value); err != nil {
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
