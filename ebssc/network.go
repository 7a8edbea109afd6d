package ebssc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc/internal/ops"
)

// Hyper holds the model's hyperparameters. Package experiments has their values and explains the
// tags; about is a field's meaning, and a comment says what else there is to know.
type Hyper struct {
	// Dropout is the probability of dropping an entry of a code in training, before every convolution
	// except the first. All hypotheses of an image share one mask.
	Dropout     float64 `json:"dropout" min:"0" max:"0.95" about:"dropout before every convolution but the first"`
	Beta        float64 `json:"beta" min:"0" max:"10" about:"initial thresholds β"`
	BetaLRScale float64 `json:"beta_step" min:"0" max:"1e6" about:"factor on the steps of β; 0 fixes it"`
	// ClassSpread is the relative spread of the initial class thresholds: uniform in β·[1−spread,
	// 1+spread]. With 0 all hypotheses start equal and the first gradient of everything but the
	// thresholds is exactly zero.
	ClassSpread  float64 `json:"class_spread" min:"0" max:"1" about:"relative spread of the initial class thresholds around β"`
	ClassLRScale float64 `json:"class_step" min:"0" max:"1e6" about:"factor on the steps of class thresholds"`
	// EnergyScale is the softmax's inverse temperature: class scores are the energies, minus their
	// mean over the classes, times this factor.
	EnergyScale     float64 `json:"energy_scale" min:"1e-6" max:"1e6" about:"factor on the energies in the softmax"`
	ClassifierScale float64 `json:"classifier_scale" min:"1e-6" max:"1e6" about:"factor on the linear classifier's scores"`
	Alpha           float64 `json:"alpha" min:"0" max:"1000" about:"regularisation α of Eq. (train_obj2)"`
	// Precision counts on one CPU, where the fast kernels compute. JSON has it only if it is not
	// float32.
	Precision Precision `json:"precision,omitempty" about:"of convolutions: float32 or, on CPUs with instructions for it, bfloat16"`
}

// Precision is the type of the numbers in convolutions with 3×3 or 1×1 kernels on eight or more
// channels, and of those that max pools compare. All other numbers are float32.
type Precision string

// The values of Precision.
const (
	Float32  Precision = ""
	BFloat16 Precision = "bfloat16"
)

// String is the name, "float32" or "bfloat16".
func (p Precision) String() string { return cmp.Or(string(p), "float32") }

// Pool is max or average pooling of a code, each channel separately.
type Pool struct {
	// Window is the window's side, Stride the windows' spacing, Padding the border on each side, in
	// pixels.
	Window, Stride, Padding int
	// Average selects average pooling; the default is max pooling.
	Average bool
}

// Layer is a named block or pool; Name is the one in the paper's table.
type Layer struct {
	Name  string
	Block *Block `json:",omitempty"`
	Pool  *Pool  `json:",omitempty"`
}

// Network is a stack of layers with a classifier on top. It is plain data: a new row of the table
// needs no new graph code.
type Network struct {
	// Height, Width and Channels of the images.
	Height, Width, Channels int
	// Classes is Y, the number of hypotheses.
	Classes int
	// Layers from the image upwards.
	Layers []Layer
	// Classifier on top.
	Classifier Classifier
	// Sweeps is T, the number of sweeps after the bottom-up pass; each updates every code with all
	// others fixed ("unrolling", Sec. 3.1.1). All sweeps share the variables.
	Sweeps int `json:",omitempty"`
}

// Blocks returns the layers that are blocks, the lowest first.
func (n Network) Blocks() (blocks []Layer) {
	for _, layer := range n.Layers {
		if layer.Block != nil {
			blocks = append(blocks, layer)
		}
	}
	return blocks
}

// Validate returns an error if no graph can be built from the network. It compiles nothing.
func (n Network) Validate() error {
	if n.Height < 1 || n.Width < 1 || n.Channels < 1 {
		return fmt.Errorf("images of %d×%d×%d: every side must be at least 1", n.Height, n.Width,
			n.Channels)
	}
	if n.Sweeps < 0 || n.Sweeps > 100 {
		return fmt.Errorf("%d sweeps: choose 0 to 100", n.Sweeps)
	}
	if n.Classes < 2 {
		return fmt.Errorf("%d classes: at least 2 are needed", n.Classes)
	}
	sizes, err := n.sizes()
	if err != nil {
		return err
	}
	if len(n.Blocks()) == 0 {
		return errors.New("no layer is a block: at least 1 is needed")
	}
	classSpecific := sizes[len(sizes)-1].classes > 0
	switch {
	case n.Classifier == Linear && classSpecific:
		return fmt.Errorf("classifier %s: the top code depends on the hypothesis, use %s", n.Classifier,
			EnergySum)
	case (n.Classifier == EnergySum || n.Classifier == EnergyTop) && !classSpecific:
		return fmt.Errorf("classifier %s: no block is class-specific, use %s", n.Classifier, Linear)
	case n.Classifier != Linear && n.Classifier != EnergySum && n.Classifier != EnergyTop:
		return fmt.Errorf("classifier %q is unknown: use %s, %s or %s", n.Classifier, Linear, EnergySum,
			EnergyTop)
	}
	_, err = n.Count()
	return err
}

// size is the shape of a layer's output: hypotheses (0 if it does not depend on them), height,
// width, channels.
type size struct{ classes, height, width, channels int }

// sizes returns the shapes of the image and of each layer's output, or an error for the first
// inconsistent layer.
func (n Network) sizes() ([]size, error) {
	out := size{0, n.Height, n.Width, n.Channels}
	sizes := []size{out}
	names := map[string]bool{}
	for _, layer := range n.Layers {
		var window, stride, padding int
		switch {
		case names[layer.Name] || layer.Name == "":
			return nil, fmt.Errorf("layer %q: names must differ and not be empty", layer.Name)
		case layer.Name == classifierScope || strings.Contains(layer.Name, model.ScopeSeparator):
			return nil, fmt.Errorf("layer %q: choose a name other than %s, "+
				"which has the linear classifier's weights, and without %q",
				layer.Name, classifierScope, model.ScopeSeparator)
		case layer.Block != nil && layer.Pool == nil:
			block := layer.Block
			if err := n.validateBlock(*block, out.classes > 0); err != nil {
				return nil, fmt.Errorf("%s: %w", layer.Name, err)
			}
			window, stride, padding = block.Kernel, block.Stride, block.Padding
			if block.Coding.Thresholds == ClassSpecific {
				out.classes = n.Classes
			}
			out.channels = block.Filters
			if !block.Coding.Rectified {
				out.channels *= 2
			}
		case layer.Pool != nil && layer.Block == nil:
			window, stride, padding = layer.Pool.Window, layer.Pool.Stride, layer.Pool.Padding
		default:
			return nil, fmt.Errorf("%s: a layer is either a block or a pool", layer.Name)
		}
		if window < 1 || stride < 1 || padding < 0 {
			return nil, fmt.Errorf("%s: window %d, stride %d, padding %d: "+
				"window and stride must be at least 1, padding at least 0",
				layer.Name, window, stride, padding)
		}
		if layer.Pool != nil && padding >= window {
			return nil, fmt.Errorf("%s: padding %d makes windows of %d that see no image: "+
				"take a smaller one", layer.Name, padding, window)
		}
		if min(out.height, out.width)+2*padding < window {
			return nil, fmt.Errorf("%s: its input of %d×%d is smaller than its window of %d", layer.Name,
				out.height, out.width, window)
		}
		out.height = (out.height+2*padding-window)/stride + 1
		out.width = (out.width+2*padding-window)/stride + 1
		names[layer.Name] = true
		sizes = append(sizes, out)
	}
	return sizes, nil
}

// validateBlock returns an error if the block's parts contradict one another, the network's sweeps
// or a class-specific block below.
func (n Network) validateBlock(block Block, classSpecificBelow bool) error {
	coding := block.Coding
	switch {
	case block.Filters < 1:
		return fmt.Errorf("%d filters, at least 1 is needed", block.Filters)
	case n.Sweeps > 0 && (coding.Rectified || !coding.Spherical):
		return errors.New("with sweeps every block needs a split code of unit norm, " +
			"or the energy has no bound")
	case classSpecificBelow && coding.Thresholds != ClassSpecific:
		return errors.New("a block above class-specific ones must be class-specific")
	case coding.Rectified && coding.Thresholds != Zero:
		return errors.New("a rectified block has no thresholds")
	case coding.Thresholds == ClassSpecific && !coding.Spherical:
		return errors.New("a class-specific block must be spherical, or its energy has no bound")
	}
	known := []Thresholds{Zero, Beta, ClassSpecific}
	if !slices.Contains(known, coding.Thresholds) {
		return fmt.Errorf("thresholds %q are unknown: use one of %q", coding.Thresholds, known)
	}
	return nil
}

// classifierScope is the scope of the linear classifier's weights; a block's variables are in the
// scope of its name.
const classifierScope = "classifier"

// Variables returns the model's variables in a store, without the trainer's, by name:
// "conv1/dictionary".
func (n Network) Variables(store *model.Store) map[string]*tensors.Tensor {
	variables := map[string]*tensors.Tensor{}
	for v := range store.IterVariables() {
		name := strings.TrimPrefix(v.Path(), model.RootScopePath)
		scope, _, _ := strings.Cut(name, model.ScopeSeparator)
		if scope == classifierScope || slices.ContainsFunc(n.Layers,
			func(layer Layer) bool { return layer.Name == scope }) {
			variables[name] = v.MustValue()
		}
	}
	return variables
}

// Pass holds the outputs of a forward pass.
type Pass struct {
	// Scores of the classes [N, Y]: the logits of the softmax.
	Scores *Node
	// Codes of each block, [N, H, W, C] or, if they depend on the hypothesis, [N, Y, H, W, C].
	Codes []*Node
	// Energies of each block, [N] or [N, Y], E'(x, y, z) at the inferred codes. Their sum is the joint
	// energy, which counts each coupling between two blocks once. nil for blocks that are not
	// spherical.
	Energies []*Node
	// Penalty is α/2 (‖ŵ‖² + ‖d‖²) of Eq. (train_obj2), a scalar; the trainer adds it to its loss.
	Penalty *Node
}

// Forward infers the codes of preprocessed images [N, H, W, C] by a bottom-up pass and n.Sweeps
// sweeps of block-coordinate ascent on the joint energy (an approximation below max pools), and
// computes the class scores. Training and evaluation call it.
//
// If the first block is spherical, it reads images of unit norm, as a block right above another
// reads codes of unit norm. In training, Forward applies dropout and registers the updates of
// thresholds and offsets with the trainer. It panics if the graph cannot be built, as GoMLX's graph
// functions do.
func (n Network) Forward(scope *model.Scope, h Hyper, images *Node) Pass {
	s := n.infer(scope, h, images)
	var pass Pass
	for _, l := range s.levels {
		energy := l.norm  // the energy of the block's own optimum, by Appendix B
		if n.Sweeps > 0 { // the block above has shifted the code from this block's own optimum
			energy = l.energy()
		}
		pass.Codes, pass.Energies = append(pass.Codes, l.code), append(pass.Energies, energy)
	}
	if n.Classifier == Linear {
		top := s.above.forward(s.levels[len(s.levels)-1].code)
		pass.Scores = linear(scope.In(classifierScope), h, top, s.above.rms(top), n.Classes)
	} else {
		// The softmax ignores what all energies share. Without it, float32 rounds the product to the size
		// of the differences.
		energies := n.Classifier.energy(pass.Energies)
		energies = Sub(energies, ReduceAndKeep(energies, ReduceMean, -1))
		pass.Scores = MulScalar(energies, h.EnergyScale)
	}
	pass.Scores.AssertDims(-1, n.Classes)
	pass.Penalty = penalty(scope, h, images.Graph(), images.DType())
	return pass
}

// implementation returns the fast operations where XLA computes on a CPU, on which they were
// measured, and plain ones elsewhere.
func implementation(g *Graph) ops.Impl {
	backend, ok := g.Backend().(interface{ IsCPU() bool })
	return ops.Impl{Plain: !ok || !backend.IsCPU()}
}
