package ebssc

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc/internal/ops"
)

// Hyperparameters that the model reads from its scope (GoMLX's model.Store parameters).
const (
	// ParamDropout is the probability (float64) that an entry of a code is dropped in training, before every
	// convolution but the first. All hypotheses of an image share one mask.
	ParamDropout = "dropout_rate"
	// ParamBeta is the thresholds' initial value (float64), in the paper's units.
	ParamBeta = "beta"
	// ParamClassSpread is the relative spread (float64) of the initial class thresholds: uniform in
	// β·[1−spread, 1+spread]. With 0 all hypotheses start equal and the first gradient of everything but the thresholds
	// is exactly zero.
	ParamClassSpread = "class_spread"
	// ParamClassStep multiplies the optimizer's steps (float64) on class thresholds.
	ParamClassStep = "class_step"
	// ParamBetaStep multiplies the optimizer's steps (float64) on β; with 0 it stays where it starts.
	ParamBetaStep = "beta_step"
	// ParamEnergyScale is the softmax's inverse temperature (float64): class scores are the energies times this factor.
	ParamEnergyScale = "energy_scale"
	// ParamClassifierScale is the size (float64) of the linear classifier's initial weights and of its steps, beside those
	// of a dictionary: what ParamEnergyScale is to energies.
	ParamClassifierScale = "classifier_scale"
	// ParamAlpha is α of Eq. (train_obj2) (float64).
	ParamAlpha = "alpha"
	// ParamHypotheses is how many class hypotheses are inferred at a time (int); 0 leaves it to the network.
	ParamHypotheses = "hypotheses"
	// ParamPlainOps, if true, computes convolutions and pools with GoMLX's own operations instead of the fast ones.
	ParamPlainOps = "plain_ops"
	// ParamBFloat16, if true, has the convolutions with the dictionaries, and their gradients, take and give bfloat16 numbers,
	// with sums in float32 where the device has them. All else stays in float32: variables and their updates, offsets,
	// thresholds, norms, energies, pools and the classifier.
	ParamBFloat16 = "bfloat16"
)

// Pool takes the largest value, or the average, in windows of a code, each channel by itself.
type Pool struct {
	// Window is the window's side, Stride the windows' spacing, Padding the border on each side, in pixels.
	Window, Stride, Padding int
	// Average pools in place of taking the maximum.
	Average bool
}

// Layer is a block or a pool, with its name in the paper's table.
type Layer struct {
	Name  string
	Block *Block `json:",omitempty"`
	Pool  *Pool  `json:",omitempty"`
}

// Network is a stack of layers with a classifier on top. It is data: a new row of the table needs no new graph code.
type Network struct {
	// Height, Width and Channels of the images.
	Height, Width, Channels int
	// Classes is Y, how many hypotheses there are.
	Classes int
	// Layers from the image upwards.
	Layers []Layer
	// Classifier on top.
	Classifier Classifier
	// Sweeps is T, how often all codes are updated after the bottom-up pass, each with the blocks above and below it held
	// fixed ("unrolling", Sec. 3.1.1). The variables are the same for every T.
	Sweeps int `json:",omitempty"`
}

// Validate says what keeps the network from being built, before anything is compiled.
func (n Network) Validate() error {
	if n.Height < 1 || n.Width < 1 || n.Channels < 1 {
		return fmt.Errorf("images of %d×%d×%d: every side must be at least 1", n.Height, n.Width, n.Channels)
	}
	if n.Sweeps < 0 {
		return fmt.Errorf("%d sweeps: at least 0 are needed", n.Sweeps)
	}
	if n.Classes < 2 {
		return fmt.Errorf("%d classes: at least 2 are needed", n.Classes)
	}
	sizes, err := n.sizes()
	if err != nil {
		return err
	}
	classSpecific := sizes[len(sizes)-1].classes > 0
	switch {
	case n.Classifier == Linear && classSpecific:
		return fmt.Errorf("classifier %s: the top code depends on the hypothesis, use %s", n.Classifier, EnergySum)
	case (n.Classifier == EnergySum || n.Classifier == EnergyTop) && !classSpecific:
		return fmt.Errorf("classifier %s: no block is class-specific, use %s", n.Classifier, Linear)
	case n.Classifier != Linear && n.Classifier != EnergySum && n.Classifier != EnergyTop:
		return fmt.Errorf("classifier %q is unknown: use %s, %s or %s", n.Classifier, Linear, EnergySum, EnergyTop)
	}
	return nil
}

// size is the shape of what one layer hands up: hypotheses (0 if it does not depend on them), height, width, channels.
type size struct{ classes, height, width, channels int }

// sizes are the shapes of the image and of each layer's code. It finds every inconsistency of the layers.
func (n Network) sizes() ([]size, error) {
	at := size{0, n.Height, n.Width, n.Channels}
	sizes := []size{at}
	names := map[string]bool{}
	for _, layer := range n.Layers {
		var window, stride, padding int
		switch {
		case names[layer.Name] || layer.Name == "":
			return nil, fmt.Errorf("layer %q: names must differ and not be empty", layer.Name)
		case layer.Block != nil && layer.Pool == nil:
			block := layer.Block
			window, stride, padding = block.Kernel, block.Stride, block.Padding
			if block.Filters < 1 {
				return nil, fmt.Errorf("%s: %d filters, at least 1 is needed", layer.Name, block.Filters)
			}
			if n.Sweeps > 0 && (block.Coding.Rectified || !block.Coding.Spherical) {
				return nil, fmt.Errorf("%s: with sweeps every block needs a split code of unit norm, or the energy has no bound", layer.Name)
			}
			if at.classes > 0 && block.Coding.Thresholds != ClassSpecific {
				return nil, fmt.Errorf("%s: a block above class-specific ones must be class-specific", layer.Name)
			}
			if block.Coding.Rectified && block.Coding.Thresholds != Zero {
				return nil, fmt.Errorf("%s: a rectified block has no thresholds", layer.Name)
			}
			if block.Coding.Rectified && block.Coding.Signed {
				return nil, fmt.Errorf("%s: a rectified block has one half alone, so there is no difference to hand up", layer.Name)
			}
			if block.Coding.Local && !block.Coding.Spherical {
				return nil, fmt.Errorf("%s: a local norm takes a spherical block", layer.Name)
			}
			switch block.Coding.Thresholds {
			case Zero, Beta, BetaFilter:
			case ClassSpecific:
				if !block.Coding.Spherical {
					return nil, fmt.Errorf("%s: a class-specific block must be spherical, or its energy has no bound", layer.Name)
				}
				at.classes = n.Classes
			default:
				return nil, fmt.Errorf("%s: thresholds %q are unknown: use %s, %s, %s or %s",
					layer.Name, block.Coding.Thresholds, Zero, Beta, BetaFilter, ClassSpecific)
			}
			at.channels = block.Filters
			if !block.Coding.Rectified && !block.Coding.Signed {
				at.channels *= 2
			}
		case layer.Pool != nil && layer.Block == nil:
			window, stride, padding = layer.Pool.Window, layer.Pool.Stride, layer.Pool.Padding
		default:
			return nil, fmt.Errorf("%s: a layer is either a block or a pool", layer.Name)
		}
		if window < 1 || stride < 1 || padding < 0 {
			return nil, fmt.Errorf("%s: window %d, stride %d, padding %d do not make a layer", layer.Name, window, stride, padding)
		}
		if min(at.height, at.width)+2*padding < window {
			return nil, fmt.Errorf("%s: its input of %d×%d is smaller than its window of %d", layer.Name, at.height, at.width, window)
		}
		at.height = (at.height+2*padding-window)/stride + 1
		at.width = (at.width+2*padding-window)/stride + 1
		names[layer.Name] = true
		sizes = append(sizes, at)
	}
	return sizes, nil
}

// classifierScope is the scope of the linear classifier's weights; a block's variables are in the scope of its name.
const classifierScope = "classifier"

// Variables are the model's variables in a store, and not the trainer's, by name: "conv1/dictionary".
func (n Network) Variables(store *model.Store) map[string]*tensors.Tensor {
	variables := map[string]*tensors.Tensor{}
	for _, v := range n.variables(store) {
		variables[strings.TrimPrefix(v.Path(), model.RootScopePath)] = v.MustValue()
	}
	return variables
}

// variables are the model's variables in a store, and not the trainer's.
func (n Network) variables(store *model.Store) (all []*model.Variable) {
	for v := range store.IterVariables() {
		scope, _, _ := strings.Cut(strings.TrimPrefix(v.Path(), model.RootScopePath), model.ScopeSeparator)
		if scope == classifierScope || slices.ContainsFunc(n.Layers, func(layer Layer) bool { return layer.Name == scope }) {
			all = append(all, v)
		}
	}
	return all
}

// Pass is what one pass through the network computed.
type Pass struct {
	// Scores of the classes [N, Y]: the logits of the softmax.
	Scores *Node
	// Codes of each layer, [N, H, W, C] or, where they depend on the hypothesis, [N, Y, H, W, C].
	Codes []*Node
	// Energies of each layer's block, [N] or [N, Y], E'(x, y, z) at the codes inferred: their sum is the joint energy, in which
	// each coupling between two blocks counts once. nil for pools and for blocks that are not spherical.
	Energies []*Node
	// Penalty is α/2 (‖ŵ‖² + ‖d‖²) of Eq. (train_obj2), a scalar; the trainer adds it to its loss.
	Penalty *Node
}

// Forward infers the codes of images [N, H, W, C], preprocessed, and scores the classes: one bottom-up pass and then
// n.Sweeps sweeps of block-coordinate ascent on the joint energy. All that trains, evaluates or decodes calls it.
//
// A network whose first block is spherical sees images of unit norm, as every block sees the codes below it. In training,
// dropout is applied and the updates of thresholds and offsets are registered with the trainer.
// It panics where the graph cannot be built, as GoMLX's graph functions do.
func (n Network) Forward(scope *model.Scope, images *Node) Pass {
	s := n.infer(scope, images)
	pass, top := n.read(s)
	if n.Classifier == Linear {
		pass.Scores = linear(scope.In(classifierScope), top, n.Classes)
	} else {
		pass.Scores = MulScalar(n.energy(scope, s, pass), model.GetParamOr(scope, ParamEnergyScale, 1.0))
	}
	pass.Scores.AssertDims(-1, n.Classes)
	pass.Penalty = n.penalty(scope, images.Graph(), images.DType())
	return pass
}

// read collects the codes and energies of each layer; top is what the classifier reads.
func (n Network) read(s *stack) (pass Pass, top code) {
	add := func(values, energy *Node) {
		pass.Codes, pass.Energies = append(pass.Codes, values), append(pass.Energies, energy)
	}
	for _, l := range s.levels {
		for _, pooled := range l.pooled {
			add(pooled.values, nil)
		}
		energy := l.closedForm() // where nothing above has shifted the code
		if n.Sweeps > 0 {
			energy = l.energy()
		}
		add(l.code.values, energy)
	}
	pooled, top := s.above.up(s.levels[len(s.levels)-1].code)
	for _, p := range pooled {
		add(p.values, nil)
	}
	return pass, top
}

// kernels are the operations that the scope's hyperparameters ask for.
func kernels(scope *model.Scope) ops.Kernels {
	return ops.Kernels{
		Plain:    model.GetParamOr(scope, ParamPlainOps, false),
		BFloat16: model.GetParamOr(scope, ParamBFloat16, false),
	}
}
