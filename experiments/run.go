package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"ebsscgo/ebssc"
)

// Version of what a description leaves unsaid: the training procedure and the model's code. It is raised by every change
// after which the same description gives other numbers, so that old runs are not taken for new ones.
const Version = 1

// Run describes one training run: everything that decides its result, and nothing else.
type Run struct {
	// Version of the code, see Version.
	Version int
	// Experiment is its name.
	Experiment string
	// Profile is the name of the scale.
	Profile string
	// Network that is trained.
	Network ebssc.Network
	// Settings are all hyperparameters, but for Options at their usual values.
	Settings Settings
	// Dataset is its name and SHA256 its fingerprint, see package data.
	Dataset, SHA256 string
	// TrainImages is how many images it trains on, the first of the training set.
	TrainImages int
	// HeldOut, if not 0, is how many images at the end of the training set take the test set's place.
	HeldOut int
	// TestImages is how many images the test error is measured on (of the test set, or held out).
	TestImages int
	// Epochs through the training images.
	Epochs int
	// Seed of the initial values, the order of the images, augmentation and dropout.
	Seed int
	// Traced runs are measured after every epoch, see Experiment.
	Traced bool `json:",omitempty"`
	// Backend that computes: xla-cpu, xla-cuda, xla (a plugin of another kind) or go.
	Backend string
	// Devices that share each training batch; 0 for one. They add up in another order than one does, so it is another run.
	Devices int `json:",omitempty"`
}

// Machine is what runs are carried out on.
type Machine struct {
	// Backend that computes, see Run.
	Backend string
	// Devices that share each training batch; 0 and 1 are one.
	Devices int
}

// Machine that the run is carried out on.
func (r Run) Machine() Machine { return Machine{r.Backend, r.Devices} }

// String is the backend, and how many devices where there are several: "xla-cpu, 2 devices".
func (m Machine) String() string {
	if m.Devices > 1 {
		return fmt.Sprintf("%s, %d devices", m.Backend, m.Devices)
	}
	return m.Backend
}

// settings are what a machine needs. The fast operations were measured on XLA's CPU alone; in loops they go through pieces of
// the batch, which lie on one device each, so several devices would all compute all of it.
func (m Machine) settings() Settings {
	return Settings{ebssc.ParamPlainOps: m.Backend != "xla-cpu" || m.Devices > 1}
}

// Dataset is what a plan must know of a data set.
type Dataset struct {
	// Name and SHA256 fingerprint, see package data.
	Name, SHA256 string
	// Train and Test are the numbers of images.
	Train, Test int
}

// Plan makes the runs of an experiment: one a seed. profile is the name of the scale. heldOut, if not 0, measures on that
// many images taken from the end of the training set in place of the test set, for choosing hyperparameters.
func Plan(e Experiment, profile string, scale Scale, set Dataset, machine Machine, overrides Settings, heldOut int) ([]Run, error) {
	run := Run{
		Version: Version, Experiment: e.Name, Profile: profile, Network: e.Network(scale.Width),
		Settings: Recipe.With(machine.settings(), scale.Settings, e.Settings, overrides).withoutOptions(),
		Dataset:  set.Name, SHA256: set.SHA256,
		HeldOut: heldOut, TestImages: atMost(scale.TestImages, set.Test),
		Epochs: scale.Epochs, Traced: e.Traced, Backend: machine.Backend,
	}
	if machine.Devices > 1 { // one is not said, as it was when there could not be more
		run.Devices = machine.Devices
	}
	run.TrainImages = atMost(scale.TrainImages, set.Train-heldOut)
	if heldOut > 0 {
		run.TestImages = heldOut
	}
	var runs []Run
	for seed := 1; seed <= scale.Seeds; seed++ {
		run.Seed = seed
		if err := run.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// Changed are the settings in which the run differs from what its experiment and profile declare.
func (r Run) Changed() Settings {
	declared := Recipe.With(r.Machine().settings())
	if study, e, ok := StudyOf(r.Experiment); ok {
		if profile, err := FindProfile(r.Profile); err == nil {
			declared = declared.With(profile.Scale(study).Settings)
		}
		declared = declared.With(e.Settings)
	}
	changed := Settings{}
	for name, value := range r.Settings {
		if value != declared[name] {
			changed[name] = value
		}
	}
	return changed
}

// atMost is limit, or all where the limit is 0 or larger.
func atMost(limit, all int) int {
	if limit <= 0 {
		return all
	}
	return min(limit, all)
}

// Validate says what keeps the run from being trained, before anything is compiled.
func (r Run) Validate() error {
	if err := r.Network.Validate(); err != nil {
		return err
	}
	if err := r.Settings.Validate(); err != nil {
		return err
	}
	switch {
	case r.Epochs < 1:
		return fmt.Errorf("%d epochs: at least 1 is needed", r.Epochs)
	case r.TrainImages < 1 || r.TestImages < 1:
		return fmt.Errorf("%d training and %d test images: at least 1 of each is needed", r.TrainImages, r.TestImages)
	case r.Batch() < 1 || r.Batch() > r.TrainImages:
		return fmt.Errorf("%s=%v does not fit: there are %d training images", ParamBatch, r.Settings[ParamBatch], r.TrainImages)
	case r.Devices > 1 && r.Batch()%r.Devices != 0:
		return fmt.Errorf("%s=%d cannot be shared by %d devices: take a multiple of %d with --set=%s=…, or other --devices",
			ParamBatch, r.Batch(), r.Devices, r.Devices, ParamBatch)
	}
	return nil
}

// Batch is the number of images in a training batch.
func (r Run) Batch() int {
	batch, _ := r.Settings[ParamBatch].(int)
	return batch
}

// StepsPerEpoch is the number of training steps in an epoch; images that do not fill a batch wait for another epoch's order.
func (r Run) StepsPerEpoch() int { return r.TrainImages / r.Batch() }

// ID names the run: experiment, seed and a hash of the whole description. Two runs of one ID have one result.
func (r Run) ID() (string, error) {
	description, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("describing run %s: %w", r.Experiment, err)
	}
	hash := sha256.Sum256(description)
	return fmt.Sprintf("%s-%d-%s", r.Experiment, r.Seed, hex.EncodeToString(hash[:5])), nil
}
