package decode

import (
	"fmt"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc"
)

// Model is a network with its variables, on a backend.
type Model struct {
	Backend compute.Backend
	Network ebssc.Network
	Store   *model.Store
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

// Decode decodes preprocessed images [N, H, W, C] from every block, the lowest first, in one batch.
// For each level, decoding an image takes about Y times as long as its class scores.
func (m Model) Decode(images *tensors.Tensor) ([]Level, error) {
	exec, err := model.NewExec(m.Backend, m.Store, func(scope *model.Scope, images *Node) (outputs []*Node) {
		for _, l := range m.levels(scope, images) {
			outputs = append(outputs, l.reconstructions, l.features)
			if l.biases != nil {
				outputs = append(outputs, l.biases)
			}
		}
		return outputs
	})
	if err != nil {
		return nil, fmt.Errorf("building the decoding: %w", err)
	}
	defer exec.Finalize()
	outputs, err := exec.Call(images)
	if err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	next := func() (t *tensors.Tensor) {
		t, outputs = outputs[0], outputs[1:]
		return t
	}
	var levels []Level
	for _, layer := range m.blocks() {
		level := Level{Block: layer.Name, Reconstructions: next(), Features: next()}
		if layer.Block.Coding.Thresholds == ebssc.ClassSpecific {
			level.Biases = next()
		}
		levels = append(levels, level)
	}
	return levels, nil
}

// level is a Level in a graph.
type level struct{ reconstructions, features, biases *Node }

// levels returns the decoded codes of images, for each block.
func (m Model) levels(scope *model.Scope, images *Node) (all []level) {
	decoded := m.Network.Decode(scope, images)
	withoutThresholds := m.Network.WithoutThresholds().Decode(scope.Store().RootScope().ResetVisited(), images)
	for i := range decoded.Codes {
		all = append(all, level{withoutThresholds.Codes[i], decoded.Features[i], decoded.Biases[i]})
	}
	return all
}

// blocks returns the network's layers that are blocks, the lowest first.
func (m Model) blocks() (blocks []ebssc.Layer) {
	for _, layer := range m.Network.Layers {
		if layer.Block != nil {
			blocks = append(blocks, layer)
		}
	}
	return blocks
}
