package experiments

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ui/commandline"

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
	// ParamWarmUp is the share of all steps (float64) in which the learning rates rise.
	ParamWarmUp = "warm_up"
	// ParamBatch is the number of images in a batch (int).
	ParamBatch = "batch_size"
	// ParamCrop is how far a random crop shifts an image, at most, in each direction, in pixels (int).
	ParamCrop = "crop"
	// ParamFlip is the probability of a horizontal flip (float64).
	ParamFlip = "flip"
	// ParamWhiten says that images are normalised and whitened (GCN and ZCA, fitted on the training images); else their
	// pixels are numbers from 0 to 1 and nothing more (bool).
	ParamWhiten = "whiten"
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

// Recipe holds the hyperparameters of training. Those that the paper leaves open were chosen on held-out training images.
var Recipe = Settings{
	ParamOptimizer:             Muon,
	ParamLearningRate:          0.001,
	ParamMuonRate:              0.01,
	ParamMuonDecay:             0.1,
	ParamWarmUp:                0.1,
	ParamBatch:                 128,
	ParamCrop:                  4,
	ParamFlip:                  0.5,
	ParamWhiten:                true,
	ebssc.ParamDropout:         0.3,
	ebssc.ParamBeta:            0.001,
	ebssc.ParamBetaStep:        1.0,
	ebssc.ParamClassSpread:     0.5,
	ebssc.ParamClassStep:       10.0,
	ebssc.ParamEnergyScale:     100.0,
	ebssc.ParamClassifierScale: 3.0,
	ebssc.ParamAlpha:           0.0,
	ebssc.ParamPlainOps:        false,
	ebssc.ParamBFloat16:        false,
	ebssc.ParamHypotheses:      0,
}

// later are settings that came after the first records, with the value that all runs had until then. At that value a description
// leaves them out, so that those records keep their IDs.
var later = Settings{ParamMuonDecay: 0.0}

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
	for setting := range strings.SplitSeq(text, ";") {
		if file, ok := strings.CutPrefix(setting, "file:"); ok {
			if info, err := os.Stat(file); err == nil && (!info.Mode().IsRegular() || info.Size() > maxSettingsFile) {
				return nil, fmt.Errorf("--set: %s is not a file of settings: name a text file with lines \"key=value\"", file)
			}
			continue
		}
		if name, _, ok := strings.Cut(strings.TrimSpace(setting), "="); ok && Recipe[name] == nil {
			return nil, fmt.Errorf("--set: %w", unknown("setting", name, slices.Sorted(maps.Keys(Recipe))))
		}
	}
	store := model.NewStore()
	store.SetParams(Recipe)
	names, err := commandline.ParseSettings(store, text)
	if err != nil {
		return nil, fmt.Errorf("--set: %w (known: %s)", err, strings.Join(slices.Sorted(maps.Keys(Recipe)), ", "))
	}
	changed := Settings{}
	for _, name := range names {
		name = strings.TrimPrefix(name, model.RootScopePath)
		if _, twice := changed[name]; twice {
			return nil, fmt.Errorf("--set gives %s twice: give it once", name)
		}
		changed[name], _ = store.GetParam(name)
	}
	return changed, nil
}

// MarshalJSON writes settings by name, without those of later that have their old value.
func (s Settings) MarshalJSON() ([]byte, error) {
	plain := maps.Clone(map[string]any(s))
	maps.DeleteFunc(plain, func(name string, value any) bool { return later[name] == value })
	return json.Marshal(plain)
}

// UnmarshalJSON reads settings with the types that they have in Recipe; JSON itself has only one kind of number.
func (s *Settings) UnmarshalJSON(text []byte) error {
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		return err
	}
	*s = later.With(plain)
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

// Validate names a setting that no network can be trained with, before anything is compiled.
func (s Settings) Validate() error {
	if optimizer := s[ParamOptimizer]; optimizer != Muon && optimizer != Adam {
		return fmt.Errorf("%s=%v is unknown: choose %s or %s", ParamOptimizer, optimizer, Muon, Adam)
	}
	ranges := []struct {
		name     string
		min, max float64
	}{
		{ParamLearningRate, 1e-9, 1},
		{ParamMuonRate, 0, 1},
		{ParamMuonDecay, 0, 100},
		{ParamWarmUp, 0, 0.9},
		{ParamBatch, 1, 1 << 16},
		{ParamCrop, 0, 16},
		{ParamFlip, 0, 1},
		{ebssc.ParamDropout, 0, 0.95},
		{ebssc.ParamBeta, 0, 10},
		{ebssc.ParamBetaStep, 0, 1e6},
		{ebssc.ParamClassSpread, 0, 1},
		{ebssc.ParamClassStep, 0, 1e6},
		{ebssc.ParamEnergyScale, 1e-6, 1e6},
		{ebssc.ParamClassifierScale, 1e-6, 1e6},
		{ebssc.ParamAlpha, 0, 1e3},
		{ebssc.ParamHypotheses, 0, 1 << 20},
	}
	for _, r := range ranges {
		value, ok := s.Number(r.name)
		if !ok {
			return fmt.Errorf("%s=%v is not a number", r.name, s[r.name])
		}
		if !(value >= r.min && value <= r.max) {
			return fmt.Errorf("%s=%v is out of range: choose %g to %g", r.name, s[r.name], r.min, r.max)
		}
	}
	return nil
}
