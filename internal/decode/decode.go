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
)

// Model decodes with a network and its variables, on a backend. Its program is compiled at the first use; Close frees it.
type Model struct {
	Backend compute.Backend
	Network ebssc.Network
	Store   *model.Store
	// Ink says that positive pixels are ink: digits that are not whitened.
	Ink bool
	// Batch is the number of images that are decoded at a time: the codes of all hypotheses take memory, and one program serves
	// all calls. 0 decodes all images of a call at once.
	Batch int

	exec *model.Exec
}

// Level holds the codes of one block decoded to signed images, in the units of preprocessed images with an arbitrary norm.
type Level struct {
	// Block is the block's name.
	Block string
	// Reconstructions [N, H, W, C] are decoded codes with zero thresholds in all blocks: they do not depend on a hypothesis.
	Reconstructions *tensors.Tensor
	// Features are decoded codes under each hypothesis without the thresholds' own contribution, [N, Y, H, W, C]; or
	// [N, H, W, C] if the code does not depend on the hypothesis. See [ebssc.Decoding].
	Features *tensors.Tensor
	// Biases are decoded class biases −ŵ_y, [N, Y, H, W, C]; nil if the block has none.
	Biases *tensors.Tensor
}

// Decode decodes preprocessed images [N, H, W, C] from every block, the lowest first.
// For each level, decoding an image takes about Y times as long as its class scores.
func (m *Model) Decode(ctx context.Context, images *tensors.Tensor) ([]Level, error) {
	type rows struct {
		dims   []int
		values []float32
	}
	var all []rows
	err := m.each(ctx, images, func(outputs []*tensors.Tensor, count int) error {
		if all == nil {
			all = make([]rows, len(outputs))
		}
		for i, output := range outputs {
			flat, err := tensors.CopyFlatData[float32](output)
			if err != nil {
				return err
			}
			dims := output.Shape().Dimensions
			all[i].dims, all[i].values = dims, append(all[i].values, flat[:len(flat)/dims[0]*count]...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	next := func() (t *tensors.Tensor) {
		dims := slices.Clone(all[0].dims)
		dims[0] = images.Shape().Dim(0)
		t, all = tensors.FromFlatDataAndDimensions(all[0].values, dims...), all[1:]
		return t
	}
	var levels []Level
	for _, layer := range m.Network.Blocks() {
		next() // the measures
		level := Level{Block: layer.Name, Reconstructions: next(), Features: next()}
		if layer.Block.Coding.Thresholds == ebssc.ClassSpecific {
			level.Biases = next()
		}
		levels = append(levels, level)
	}
	return levels, nil
}

// each hands over the outputs of the graph for each batch of images, and the number of its images. Copies of its first image fill up the
// last batch: a program has one size of batches. If ctx ends, each returns its cause.
func (m *Model) each(ctx context.Context, images *tensors.Tensor, do func(outputs []*tensors.Tensor, count int) error) (err error) {
	if m.exec == nil {
		if m.exec, err = model.NewExec(m.Backend, m.Store, m.graph); err != nil {
			return fmt.Errorf("building the decoding: %w", err)
		}
	}
	dims := images.Shape().Dimensions
	flat, size, batch := tensors.MustCopyFlatData[float32](images), images.Shape().Size()/dims[0], cmp.Or(m.Batch, dims[0])
	for from := 0; from < dims[0]; from += batch {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		count := min(batch, dims[0]-from)
		values := slices.Clone(flat[from*size : (from+count)*size])
		for len(values) < batch*size {
			values = append(values, flat[from*size:(from+1)*size]...)
		}
		outputs, err := m.exec.Call(tensors.FromFlatDataAndDimensions(values, append([]int{batch}, dims[1:]...)...))
		if err != nil {
			return fmt.Errorf("decoding: %w", err)
		}
		if err := do(outputs, count); err != nil {
			return fmt.Errorf("reading a decoding: %w", err)
		}
		for _, output := range outputs {
			if err := output.FinalizeAll(); err != nil {
				return fmt.Errorf("freeing a decoding: %w", err)
			}
		}
	}
	return nil
}

// SetVariables gives the model the variables of another store, so that the same program decodes with them.
func (m *Model) SetVariables(other *model.Store) error {
	for v := range other.IterVariables() {
		value, err := v.Value()
		if err != nil {
			return err
		}
		if mine := m.Store.GetVariable(v.Path()); mine != nil {
			if err := mine.SetValuePreservingOld(value); err != nil {
				return err
			}
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

// graph decodes images [N, H, W, C]: for each block its measures [N, 5], see fidelity, then what a Level holds.
func (m *Model) graph(scope *model.Scope, images *Node) (outputs []*Node) {
	for _, l := range m.levels(scope, images) {
		outputs = append(outputs, m.fidelity(images, l), l.reconstructions, l.features)
		if l.biases != nil {
			outputs = append(outputs, l.biases)
		}
	}
	return outputs
}

// level is a Level in a graph.
type level struct{ reconstructions, features, biases *Node }

// levels returns the decoded codes of images, for each block.
func (m *Model) levels(scope *model.Scope, images *Node) (all []level) {
	decoded := m.Network.Decode(scope, images)
	withoutThresholds := m.Network.WithoutThresholds().Decode(scope.Store().RootScope().ResetVisited(), images)
	for i := range decoded.Codes {
		all = append(all, level{withoutThresholds.Codes[i], decoded.Features[i], decoded.Biases[i]})
	}
	return all
}
