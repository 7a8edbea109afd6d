package experiments

import (
	"fmt"
	"reflect"
	"strings"

	"ebsscgo/ebssc"
)

// Hyper holds all hyperparameters of a run: the model's and those of its training. [Recipe] has the
// default of each.
//
// A field's name on the command line and in records is its json tag; min and max bound numbers;
// about is its line in the help.
type Hyper struct {
	ebssc.Hyper
	Optimizer string `json:"optimizer" about:"muon (for dictionaries above the first block; Adam for the rest) or adam (for all, as in the paper)"`
	// LearningRate is Adam's largest rate. It rises from 0 in the warm-up and falls to 0 along half a
	// cosine. MuonRate is Muon's, likewise.
	LearningRate float64 `json:"learning_rate" min:"1e-9" max:"1" about:"largest rate of Adam"`
	MuonRate     float64 `json:"muon_rate" min:"0" max:"1" about:"largest rate of Muon"`
	// MuonDecay is the share of a dictionary that Muon takes away in a step, over the step's rate.
	MuonDecay    float64 `json:"muon_decay" min:"0" max:"100" about:"Muon's weight decay"`
	MuonMomentum float64 `json:"muon_momentum" min:"0" max:"0.999" about:"Muon's momentum"`
	WarmUp       float64 `json:"warm_up" min:"0" max:"0.9" about:"share of the steps in which the rates rise"`
	Batch        int     `json:"batch_size" min:"1" max:"65536" about:"images in a batch"`
	Crop         int     `json:"crop" min:"0" max:"16" about:"largest shift of a random crop, in pixels"`
	Flip         float64 `json:"flip" min:"0" max:"1" about:"probability of a horizontal flip"`
	// Preprocessing is [ZCA], [GCN] or [Raw]. ZCAEpsilon is what ZCA adds to each eigenvalue of the
	// covariance.
	Preprocessing string  `json:"preprocessing" about:"zca (normalised contrast, whitened), gcn (normalised contrast alone) or raw (pixels from 0 to 1)"`
	ZCAEpsilon    float64 `json:"zca_epsilon" min:"1e-6" max:"1e6" about:"added to each eigenvalue in whitening"`
}

// Values of [Hyper.Optimizer] and [Hyper.Preprocessing].
const (
	// Muon moves the dictionaries above the first block by as much in all directions; Adam moves the
	// rest.
	Muon = "muon"
	Adam = "adam" // the paper's optimizer
	// ZCA is contrast normalisation and whitening, fitted on the training images, as in the paper.
	ZCA = "zca"
	GCN = "gcn" // the contrast normalisation alone
	Raw = "raw" // pixels as numbers from 0 to 1
)

// Recipe has the default of each hyperparameter. docs/recipe.md says which the paper has, and how
// the others were chosen.
var Recipe = Hyper{
	Hyper: ebssc.Hyper{
		Dropout: 0.3, Beta: 0.001, BetaLRScale: 1, ClassSpread: 0.5, ClassLRScale: 10,
		EnergyScale: 100, ClassifierScale: 3,
	},
	Optimizer: Muon, LearningRate: 0.001, MuonRate: 0.02, MuonDecay: 0.1, MuonMomentum: 0.95,
	WarmUp: 0.1, Batch: 128, Crop: 4, Flip: 0.5, Preprocessing: ZCA, ZCAEpsilon: 3,
}

// Changed returns the hyperparameters after the changes, in turn; a nil change changes nothing.
func (h Hyper) Changed(changes ...func(*Hyper)) Hyper {
	for _, change := range changes {
		if change != nil {
			change(&h)
		}
	}
	return h
}

// field is a hyperparameter: its declaration and its value.
type field struct {
	reflect.StructField
	value reflect.Value
}

// name returns the hyperparameter's name on the command line.
func (f field) name() string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fields returns all hyperparameters.
func (h *Hyper) fields() (all []field) {
	value := reflect.ValueOf(h).Elem()
	for _, declared := range reflect.VisibleFields(value.Type()) {
		if !declared.Anonymous {
			all = append(all, field{declared, value.FieldByIndex(declared.Index)})
		}
	}
	return all
}

// Set returns the hyperparameters with those that the text names changed: "muon_rate=0.02;crop=0".
func (h Hyper) Set(text string) (Hyper, error) {
	given := map[string]bool{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return h, fmt.Errorf("--set %q: write name=value;name=value", part)
		}
		if given[name] {
			return h, fmt.Errorf("--set gives %s twice: give it once", name)
		}
		given[name] = true
		f, err := find("hyperparameter", name, h.fields(), field.name)
		if err != nil {
			return h, err
		}
		verb := "%v"
		if f.value.CanInt() {
			verb = "%d" // 064 is 64
		}
		if _, err := fmt.Sscanf(value+"\n", verb+"\n", f.value.Addr().Interface()); err != nil {
			return h, fmt.Errorf("--set %s: give a word, or a number, and a whole one where it counts",
				part)
		}
	}
	if h.Precision == ebssc.Precision(ebssc.Float32.String()) {
		h.Precision = ebssc.Float32 // "", so that IDs and records know it by its absence
	}
	return h, nil
}

// Describe lists the hyperparameters, a row each: name and value as Set reads them, and what it is,
// with the range of numbers.
func (h Hyper) Describe() (rows [][2]string) {
	for _, f := range h.fields() {
		about := f.Tag.Get("about")
		if most := f.Tag.Get("max"); most != "" {
			about += fmt.Sprintf(" (%s to %s)", f.Tag.Get("min"), most)
		}
		rows = append(rows, [2]string{fmt.Sprintf("%s=%v", f.name(), f.value), about})
	}
	return rows
}

// Validate returns an error if a value is unknown or out of its range.
func (h Hyper) Validate() error {
	if h.Optimizer != Muon && h.Optimizer != Adam {
		return fmt.Errorf("optimizer=%s is unknown: choose %s or %s", h.Optimizer, Muon, Adam)
	}
	if p := h.Preprocessing; p != ZCA && p != GCN && p != Raw {
		return fmt.Errorf("preprocessing=%s is unknown: choose %s, %s or %s", p, ZCA, GCN, Raw)
	}
	if h.Precision != ebssc.Float32 && h.Precision != ebssc.BFloat16 {
		return fmt.Errorf("precision=%s is unknown: choose %s or %s", h.Precision, ebssc.Float32,
			ebssc.BFloat16)
	}
	for _, f := range h.fields() {
		var least, most float64
		if n, _ := fmt.Sscan(f.Tag.Get("min")+" "+f.Tag.Get("max"), &least, &most); n < 2 {
			continue // a word
		}
		number := f.value.Convert(reflect.TypeFor[float64]()).Float()
		if !(number >= least && number <= most) {
			return fmt.Errorf("%s=%v is out of range: choose %g to %g", f.name(), f.value, least, most)
		}
	}
	return nil
}
