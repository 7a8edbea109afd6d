package experiments

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ebsscgo/ebssc"
)

// Version stands for the code: the model and the training procedure. Raise it with every change after which the same
// description gives other numbers, so that old runs are not taken for new ones.
const Version = 3

// maxSeeds is the largest number of seeds of an experiment.
const maxSeeds = 1000

// Run describes one training run: all that decides its result, but for the processor, on which numbers are rounded in another way.
type Run struct {
	// Version of the code, see the constant.
	Version int
	// Experiment and Profile by their names.
	Experiment, Profile string
	// Network that is trained.
	Network ebssc.Network
	// Settings are all hyperparameters.
	Settings Settings
	// Dataset that the images come from.
	Dataset Dataset
	// TrainImages is the number of images to train on: the first of the training set.
	TrainImages int
	// HeldOut is the number of images at the end of the training set that take the test set's place; 0 for the test set itself.
	HeldOut int
	// TestImages is the number of images that the test error is measured on: of the test set, or held out.
	TestImages int
	// Epochs through the training images.
	Epochs int
	// Seed of the initial values, the order of the images, augmentation and dropout.
	Seed int
	// Traced runs are measured after every epoch, see Experiment.
	Traced bool
	// Machine that computes.
	Machine Machine
}

// Dataset identifies a data set.
type Dataset struct {
	// Name, such as "cifar10", and SHA256, the fingerprint of its images and labels.
	Name, SHA256 string
	// Train and Test are its numbers of images.
	Train, Test int
}

// XLACPU is the name of XLA's backend on the CPU: it has the fast operations.
const XLACPU = "xla-cpu"

// Machine is the part of a computer that a run's description names: it fixes the operations. Processors may round them differently.
type Machine struct {
	// Backend that computes: xla-cpu, xla-cuda, xla-cuda-float32 (without TF32), xla (another plugin) or go.
	Backend string
	// Devices share each training batch.
	Devices int
}

// String is the backend, with the number of devices if there are several: "xla-cpu, 2 devices".
func (m Machine) String() string {
	if m.Devices > 1 {
		return fmt.Sprintf("%s, %d devices", m.Backend, m.Devices)
	}
	return m.Backend
}

// Flags are those of the command line that name the machine, such as " --backend cpu". ok is false for a plugin of unknown kind, which is a
// file that they cannot name.
func (m Machine) Flags() (flags string, ok bool) {
	backend, ok := backendFlags[m.Backend]
	if !ok {
		return "", false
	}
	flags = " --backend " + backend
	if m.Devices > 1 {
		flags += fmt.Sprintf(" --devices %d", m.Devices)
	}
	return flags, true
}

// OnCPU says whether the CPU computes.
func (m Machine) OnCPU() bool { return m.Backend == XLACPU || m.Backend == "go" }

// settings are the machine's own. The fast operations were measured on XLA's CPU alone. They loop over pieces of the batch, which
// lie on one device each, so with several devices every device would compute all pieces.
func (m Machine) settings() Settings {
	return Settings{ebssc.ParamPlainOps: m.Backend != XLACPU || m.Devices > 1}
}

// Overrides are a user's changes to a profile. Zero fields change nothing.
type Overrides struct {
	// Width is the number of filters of the first block; Images limits the training images; Epochs and Seeds are as in Scale.
	Width, Images, Epochs, Seeds int
	// HeldOut measures on that many images from the end of the training set in place of the test set, to choose settings.
	HeldOut int
	// Settings replace hyperparameters.
	Settings Settings
}

// Validate returns an error if no run can have an override.
func (o Overrides) Validate() error {
	for _, limit := range []struct {
		flag       string
		value, max int
	}{{"width", o.Width, 4096}, {"images", o.Images, 1 << 30}, {"epochs", o.Epochs, 1 << 20}, {"seeds", o.Seeds, maxSeeds}, {"held-out", o.HeldOut, 1 << 30}} {
		if limit.value < 0 || limit.value > limit.max {
			return fmt.Errorf("--%s %d is out of range: choose 1 to %d", limit.flag, limit.value, limit.max)
		}
	}
	return nil
}

// Plan returns the runs of an experiment at a profile's scale, one a seed.
func Plan(e Experiment, profile string, scale Scale, set Dataset, machine Machine, o Overrides) ([]Run, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if left := set.Train - o.HeldOut; left > 0 && o.Images > left {
		return nil, fmt.Errorf("--images %d: there are %d to train on", o.Images, left)
	}
	machine.Devices = max(1, machine.Devices)
	run := Run{
		Version: Version, Experiment: e.Name, Profile: profile, Network: e.Network(cmp.Or(o.Width, scale.Width)),
		Settings: Recipe.With(machine.settings(), scale.Settings, e.Settings, e.Chosen, o.Settings),
		Dataset:  set, TrainImages: atMost(cmp.Or(o.Images, scale.TrainImages), set.Train-o.HeldOut),
		HeldOut: o.HeldOut, TestImages: atMost(scale.TestImages, set.Test),
		Epochs: cmp.Or(o.Epochs, scale.Epochs), Traced: e.Traced, Machine: machine,
	}
	if o.HeldOut > 0 {
		run.TestImages = o.HeldOut
	}
	var runs []Run
	for seed := 1; seed <= cmp.Or(o.Seeds, scale.Seeds); seed++ {
		run.Seed = seed
		if err := run.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// atMost is limit, or all where the limit is 0 or larger.
func atMost(limit, all int) int {
	if limit <= 0 {
		return all
	}
	return min(limit, all)
}

// Differences lists how a run differs from what the suite declares for its experiment and profile, whatever its data set, machine
// and seed: "epochs=2", "learning_rate=0.01". A run without differences is the profile's own. A run with some is a trial.
func (s Suite) Differences(r Run) []string {
	_, _, _, declared, err := s.declared(r)
	if err != nil {
		return []string{err.Error()}
	}
	var differences []string
	differ := func(name string, is, want any) {
		if is != want {
			differences = append(differences, fmt.Sprintf("%s=%v", name, is))
		}
	}
	differ("version", r.Version, Version)
	differ("width", r.Width(), declared.Width())
	differ("images", r.TrainImages, declared.TrainImages)
	differ("epochs", r.Epochs, declared.Epochs)
	differ("held_out", r.HeldOut, 0)
	differ("test_images", r.TestImages, declared.TestImages)
	for _, name := range slices.Sorted(maps.Keys(Recipe.With(r.Settings))) {
		differ(name, r.Settings[name], declared.Settings[name])
	}
	differ("traced", r.Traced, declared.Traced)
	if r.Width() == declared.Width() && describe(r.Network) != describe(declared.Network) {
		differences = append(differences, "the network has changed since")
	}
	return differences
}

// declared is what the suite declares for a run's experiment and profile: the study, the experiment, the scale, and the profile's own run
// with the first seed, on the same data set and machine and with as many images held out.
func (s Suite) declared(r Run) (study Study, e Experiment, scale Scale, run Run, err error) {
	if study, e, err = s.Experiment(r.Experiment); err != nil {
		return study, e, scale, run, errors.New("experiment is not declared")
	}
	profile, err := FindProfile(r.Profile)
	if err != nil {
		return study, e, scale, run, errors.New("profile is not declared")
	}
	scale = profile.Scale(study)
	plans, err := Plan(e, r.Profile, scale, r.Dataset, r.Machine, Overrides{Seeds: 1, HeldOut: r.HeldOut})
	if err != nil {
		return study, e, scale, run, fmt.Errorf("cannot be planned: %w", err)
	}
	return study, e, scale, plans[0], nil
}

// Whitens says whether the run's images are whitened.
func (r Run) Whitens() bool {
	whiten, _ := r.Settings[ParamWhiten].(bool)
	return whiten
}

// backendFlags are what --backend takes for the backends of machines.
var backendFlags = map[string]string{XLACPU: "cpu", "xla-cuda": "cuda", "xla-cuda-float32": "xla:cuda,tf32=false", "go": "go"}

// Command is the command line that plans the run, with the seeds below its own: "ebssc run table --only ssc-lc7 --profile quick …". It is empty where none
// does today: of a run of another version, of an experiment that has changed since, or on a plugin of unknown kind.
func (s Suite) Command(r Run) string {
	study, e, scale, declared, err := s.declared(r)
	if err != nil {
		return ""
	}
	o := Overrides{Seeds: r.Seed, HeldOut: r.HeldOut, Settings: Settings{}}
	command := fmt.Sprintf("ebssc run %s --only %s --profile %s", study.Name, r.Experiment, r.Profile)
	override := func(flag string, to *int, is, want int) {
		if is != want {
			*to = is
			command += fmt.Sprintf(" --%s %d", flag, is)
		}
	}
	override("width", &o.Width, r.Width(), declared.Width())
	override("images", &o.Images, r.TrainImages, declared.TrainImages)
	override("epochs", &o.Epochs, r.Epochs, declared.Epochs)
	override("seeds", &o.Seeds, r.Seed, scale.Seeds)
	if r.HeldOut > 0 {
		command += fmt.Sprintf(" --held-out %d", r.HeldOut)
	}
	var set []string
	for _, name := range slices.Sorted(maps.Keys(Recipe)) {
		if value := r.Settings[name]; value != declared.Settings[name] {
			o.Settings[name], set = value, append(set, fmt.Sprintf("%s=%v", name, value))
		}
	}
	if len(set) > 0 {
		command += fmt.Sprintf(" --set %q", strings.Join(set, ";"))
	}
	flags, ok := r.Machine.Flags()
	if !ok {
		return ""
	}
	command += flags
	planned, err := Plan(e, r.Profile, scale, r.Dataset, r.Machine, o)
	if err != nil || planned[len(planned)-1].ID() != r.ID() {
		return ""
	}
	return command
}

// describe writes a value as IDs hash it.
func describe(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // a description has no values that JSON lacks
	}
	return string(text)
}

// Width is the number of filters of the network's first block.
func (r Run) Width() int { return r.Network.Blocks()[0].Block.Filters }

// Validate returns an error if the run cannot be trained. It compiles nothing.
func (r Run) Validate() error {
	if err := r.Network.Validate(); err != nil {
		return err
	}
	if err := r.Settings.Validate(); err != nil {
		return err
	}
	switch {
	case r.HeldOut >= r.Dataset.Train:
		return fmt.Errorf("--held-out %d leaves nothing to train on: the data set has %d training images", r.HeldOut, r.Dataset.Train)
	case r.Epochs < 1:
		return fmt.Errorf("%d epochs: at least 1 is needed", r.Epochs)
	case r.TrainImages < 1 || r.TestImages < 1:
		return fmt.Errorf("%d training and %d test images: at least 1 of each is needed", r.TrainImages, r.TestImages)
	case r.Batch() < 1 || r.Batch() > r.TrainImages:
		return fmt.Errorf("%s=%v does not fit: there are %d training images", ParamBatch, r.Settings[ParamBatch], r.TrainImages)
	case r.Batch()%max(1, r.Machine.Devices) != 0:
		return fmt.Errorf("%s=%d cannot be shared by %d devices: take a multiple of %[3]d with --set=%[1]s=…, or other --devices",
			ParamBatch, r.Batch(), r.Machine.Devices)
	}
	return nil
}

// Batch is the number of images in a training batch.
func (r Run) Batch() int {
	batch, _ := r.Settings[ParamBatch].(int)
	return batch
}

// ImagesShown is the number of images that the training shows the network, counted anew in each epoch.
func (r Run) ImagesShown() int { return r.TrainImages * r.Epochs }

// StepsPerEpoch is the number of training steps in an epoch. Images that do not fill a batch are left out of the epoch.
func (r Run) StepsPerEpoch() int { return r.TrainImages / r.Batch() }

// Work estimates the work of training in floating-point operations, see [ebssc.Network.TrainingFLOP]. A sweep of inference counts
// as much as the bottom-up pass.
func (r Run) Work() (float64, error) {
	passes := 1 + r.Network.Sweeps
	r.Network.Sweeps = 0
	flop, err := r.Network.TrainingFLOP()
	return float64(flop) * float64(passes) * float64(r.TrainImages) * float64(r.Epochs), err
}

// ID names the run: experiment, seed and a hash of the whole description. Two runs with the same ID have the same result
// on the same kind of processor; elsewhere they differ by rounding.
func (r Run) ID() string {
	hash := sha256.Sum256([]byte(describe(r)))
	return fmt.Sprintf("%s-%d-%s", r.Experiment, r.Seed, hex.EncodeToString(hash[:5]))
}
