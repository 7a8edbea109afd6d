package experiments

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gomlx/gomlx/support/fsutil"

	"ebsscgo/ebssc"
)

// Hyperparameters of training; those of the model are in package ebssc.
const (
	// ParamOptimizer is Muon or Adam (string).
	ParamOptimizer = "optimizer"
	// ParamLearningRate is Adam's largest learning rate (float64), GoMLX's own name for it. It rises from 0 in the warm-up and
	// falls to 0 along half a cosine.
	ParamLearningRate = "learning_rate"
	// ParamMuonRate is Muon's largest learning rate (float64). It rises and falls as Adam's does.
	ParamMuonRate = "muon_rate"
	// ParamMuonDecay is the share of a dictionary (float64) that Muon takes away in a step, over the step's rate; 0 for none.
	ParamMuonDecay = "muon_decay"
	// ParamMuonMomentum is the coefficient of the gradients' moving average in Muon (float64).
	ParamMuonMomentum = "muon_momentum"
	// ParamWarmUp is the share of all steps (float64) in which the learning rates rise.
	ParamWarmUp = "warm_up"
	// ParamBatch is the number of images in a batch (int).
	ParamBatch = "batch_size"
	// ParamCrop is how far a random crop shifts an image, at most, in each direction, in pixels (int).
	ParamCrop = "crop"
	// ParamCutout is the side, in pixels (int), of a square at a random place of each training image that is set to 0; 0 for none.
	ParamCutout = "cutout"
	// ParamFlip is the probability of a horizontal flip (float64).
	ParamFlip = "flip"
	// ParamLabelSmoothing is the share of an image's label (float64) that training spreads evenly over all classes; 0 for none.
	ParamLabelSmoothing = "label_smoothing"
	// ParamWhiten says that images are normalised and whitened (GCN and ZCA, fitted on the training images); else their
	// pixels are numbers from 0 to 1 and nothing more (bool).
	ParamWhiten = "whiten"
	// ParamZCAEpsilon is what ZCA adds to every eigenvalue (float64); 0 for contrast normalisation (GCN) without ZCA.
	ParamZCAEpsilon = "zca_epsilon"
	// ParamMuonKeepNorm says that Muon keeps each dictionary's Frobenius norm at its initial value (bool).
	ParamMuonKeepNorm = "muon_keep_norm"
)

// Optimizers, for ParamOptimizer.
const (
	// Muon takes steps of the dictionaries above the first block that move all their directions by as much; the rest moves by Adam.
	Muon = "muon"
	// Adam is the paper's.
	Adam = "adam"
)

// Settings are hyperparameters by name, each a float64, int, bool or string. The docstring of its Param constant says what it means.
type Settings map[string]any

// hyperparameters declares them all: the value in the recipe, the range of those that are numbers, and a line for the help.
var hyperparameters = []struct {
	name     string
	value    any
	min, max float64
	about    string
}{
	{ParamOptimizer, Muon, 0, 0, "muon (for dictionaries above the first block; Adam for the rest) or adam (for all, as in the paper)"},
	{ParamLearningRate, 0.001, 1e-9, 1, "largest rate of Adam"},
	{ParamMuonRate, 0.01, 0, 1, "largest rate of Muon"},
	{ParamMuonDecay, 0.1, 0, 100, "Muon's weight decay"},
	{ParamMuonMomentum, 0.95, 0, 0.999, "Muon's momentum"},
	{ParamWarmUp, 0.1, 0, 0.9, "share of the steps in which the rates rise"},
	{ParamBatch, 128, 1, 1 << 16, "images in a batch"},
	{ParamCrop, 4, 0, 16, "largest shift of a random crop, in pixels"},
	{ParamCutout, 0, 0, 64, "side of a square that is cut out of each training image, in pixels"},
	{ParamFlip, 0.5, 0, 1, "probability of a horizontal flip"},
	{ParamLabelSmoothing, 0.0, 0, 0.95, "share of a label that training spreads over all classes"},
	{ParamWhiten, true, 0, 0, "GCN and ZCA of the images"},
	{ParamZCAEpsilon, 0.1, 0, 1e6, "added to every eigenvalue in ZCA; 0: GCN alone"},
	{ParamMuonKeepNorm, false, 0, 0, "Muon keeps each dictionary's norm"},
	{ebssc.ParamDropout, 0.3, 0, 0.95, "dropout before every convolution but the first"},
	{ebssc.ParamBeta, 0.001, 0, 10, "initial thresholds β"},
	{ebssc.ParamBetaStep, 1.0, 0, 1e6, "factor on the steps of β; 0 fixes it"},
	{ebssc.ParamClassSpread, 0.5, 0, 1, "relative spread of the initial class thresholds around β"},
	{ebssc.ParamClassStep, 10.0, 0, 1e6, "factor on the steps of class thresholds"},
	{ebssc.ParamEnergyScale, 100.0, 1e-6, 1e6, "factor on the energies in the softmax"},
	{ebssc.ParamClassifierScale, 3.0, 1e-6, 1e6, "factor on the linear classifier's scores"},
	{ebssc.ParamAlpha, 0.0, 0, 1e3, "regularisation α of Eq. (train_obj2)"},
	{ebssc.ParamPlainOps, false, 0, 0, "GoMLX's own convolutions and pools in place of the fast ones"},
	{ebssc.ParamBFloat16, false, 0, 0, "convolutions in bfloat16"},
	{ebssc.ParamHypotheses, 0, 0, 1000, "class hypotheses inferred at a time; 0: as many as fit"},
}

// Recipe holds the hyperparameters of training. docs/recipe.md says which the paper has, and how the others were chosen.
var Recipe = func() Settings {
	recipe := Settings{}
	for _, h := range hyperparameters {
		recipe[h.name] = h.value
	}
	return recipe
}()

// DescribeSettings lists the hyperparameters, a line each, in two columns: name and value in the recipe, as ParseSettings reads them, and
// what they are, with the range of numbers.
func DescribeSettings() string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, h := range hyperparameters {
		fmt.Fprintf(table, "%s=%v\t%s", h.name, h.value, h.about)
		if h.max > 0 {
			fmt.Fprintf(table, " (%g to %g)", h.min, h.max)
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // writes to memory do not fail
	return text.String()
}

// addedLater are settings that came after the first records, with the value that all runs had until then. At that value a description
// leaves them out, so that those records keep their IDs.
var addedLater = Settings{ParamMuonDecay: 0.0, ParamMuonMomentum: 0.95, ParamCutout: 0, ParamLabelSmoothing: 0.0, ParamZCAEpsilon: 0.1, ParamMuonKeepNorm: false}

// With returns a copy of the settings in which the others replace those of the same names.
func (s Settings) With(others ...Settings) Settings {
	merged := maps.Clone(s)
	for _, other := range others {
		maps.Copy(merged, other)
	}
	return merged
}

// String writes settings as ParseSettings reads them, in alphabetical order.
func (s Settings) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, s[name]))
	}
	return strings.Join(parts, ";")
}

// maxSettingsFile is the size in bytes of the largest file of settings that is read.
const maxSettingsFile = 1 << 20

// ParseSettings reads GoMLX's form "key=value;key=value" ("file:PATH" reads a file of such lines). Keys are those of Recipe, each at
// most once, and values have the types they have there.
func ParseSettings(text string) (Settings, error) {
	var all []string
	for setting := range strings.SplitSeq(text, ";") {
		file, ok := strings.CutPrefix(strings.TrimSpace(setting), "file:")
		if !ok {
			all = append(all, strings.TrimSpace(setting))
			continue
		}
		lines, err := readSettings(file)
		if err != nil {
			return nil, fmt.Errorf("--set: %w", err)
		}
		all = append(all, lines...)
	}
	changed := Settings{}
	for _, setting := range slices.DeleteFunc(all, func(setting string) bool { return setting == "" }) {
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			return nil, fmt.Errorf("--set: %q: write key=value;key=value", setting)
		}
		declared := Recipe[name]
		if declared == nil {
			return nil, fmt.Errorf("--set: %w", unknown("setting", name, slices.Sorted(maps.Keys(Recipe))))
		}
		if _, twice := changed[name]; twice {
			return nil, fmt.Errorf("--set gives %s twice: give it once", name)
		}
		var kind string
		if changed[name], kind, ok = readAs(declared, value); !ok {
			return nil, fmt.Errorf("--set: %s: choose %s", setting, kind)
		}
	}
	return changed, nil
}

// readAs reads a text as a value of the same type as another. kind is what that type is called, and ok is false where the text has none.
func readAs(other any, text string) (value any, kind string, ok bool) {
	var err error
	number := strings.ReplaceAll(text, "_", "") // as in 20_000
	switch other.(type) {
	case float64:
		value, err = strconv.ParseFloat(number, 64)
		return value, "a number", err == nil
	case int:
		value, err = strconv.Atoi(number)
		return value, "a whole number", err == nil
	case bool:
		return text == "true", "true or false", text == "true" || text == "false"
	default:
		return text, "a word", true
	}
}

// readSettings returns the settings in a file: lines of them, empty ones, and comments that begin with #. A file names no other.
func readSettings(file string) (settings []string, err error) {
	if file, err = fsutil.ReplaceTildeInDir(file); err != nil {
		return nil, err
	}
	if info, err := os.Stat(file); err == nil && (!info.Mode().IsRegular() || info.Size() > maxSettingsFile) {
		return nil, fmt.Errorf("%s is not a file of settings: name a text file with lines \"key=value\"", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		for setting := range strings.SplitSeq(line, ";") {
			setting = strings.TrimSpace(setting)
			if strings.HasPrefix(setting, "file:") {
				return nil, fmt.Errorf("%s names another file, %s: write its lines here", file, setting)
			}
			settings = append(settings, setting)
		}
	}
	return settings, nil
}

// MarshalJSON writes settings by name, without those of addedLater that have their old value.
func (s Settings) MarshalJSON() ([]byte, error) {
	plain := maps.Clone(map[string]any(s))
	maps.DeleteFunc(plain, func(name string, value any) bool { return addedLater[name] == value })
	return json.Marshal(plain)
}

// UnmarshalJSON reads settings with the types that they have in Recipe; JSON itself has only one kind of number.
func (s *Settings) UnmarshalJSON(text []byte) error {
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	*s = addedLater.With(plain)
	for name, value := range plain {
		number, isNumber := value.(float64)
		if _, isInt := Recipe[name].(int); isInt && isNumber {
			(*s)[name] = int(number)
		}
	}
	return nil
}

// Number is a setting as a number; ok is false where it is none.
func (s Settings) Number(name string) (value float64, ok bool) {
	switch v := s[name].(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	default:
		return 0, false
	}
}

// Validate returns an error if a setting is unknown, of another type than in Recipe, or out of its range. It compiles nothing.
func (s Settings) Validate() error {
	if optimizer := s[ParamOptimizer]; optimizer != Muon && optimizer != Adam {
		return fmt.Errorf("%s=%v is unknown: choose %s or %s", ParamOptimizer, optimizer, Muon, Adam)
	}
	for name, value := range s {
		declared, ok := Recipe[name]
		if !ok {
			return unknown("setting", name, slices.Sorted(maps.Keys(Recipe)))
		}
		if is, want := reflect.TypeOf(value), reflect.TypeOf(declared); is != want {
			return fmt.Errorf("%s=%v is of type %v: give a value of type %v", name, value, is, want)
		}
	}
	for _, h := range hyperparameters {
		if h.max == 0 {
			continue // no number
		}
		value, ok := s.Number(h.name)
		if !ok {
			return fmt.Errorf("setting %s is missing", h.name)
		}
		if !(value >= h.min && value <= h.max) {
			return fmt.Errorf("%s=%v is out of range: choose %g to %g", h.name, s[h.name], h.min, h.max)
		}
	}
	return nil
}
