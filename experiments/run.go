package experiments

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
	"unicode"

	"ebsscgo/ebssc"
)

// Version stands for the code: the model and the training procedure. Raise it with every change
// after which the same description gives other numbers, beyond rounding, so that old runs are not
// taken for new ones.
const Version = 4

const (
	// maxSeeds is the largest number of seeds of an experiment.
	maxSeeds = 1000
	// heldOutSeeds is added to the seeds of runs on held-out images: what is chosen with them is never
	// judged with the same seeds.
	heldOutSeeds = 10_000
)

// Run describes one training: all that decides its result, and the names that it is planned under
// (Experiment, Profile) with what is measured beside it (EvalEachEpoch, Decoded). These decide no
// number, but count for its ID: the same training under another name is another run. What computes
// it (the backend, the processor and the versions of libraries) is not part of it: it changes how
// numbers are rounded and nothing else, and a record names it.
type Run struct {
	// Version of the code, see the constant.
	Version int
	// Experiment and Profile by their names.
	Experiment, Profile string
	// Network that is trained, and all hyperparameters.
	Network ebssc.Network
	Hyper   Hyper
	// Dataset that the images come from.
	Dataset Dataset
	// TrainImages is the number of images to train on: the first of the training set.
	TrainImages int
	// HeldOut is the number of images at the end of the training set that take the test set's place; 0
	// for the test set itself.
	HeldOut int
	// TestImages is the number of images that the test error is measured on: of the test set, or held
	// out.
	TestImages int
	// Epochs through the training images; 0 measures the network before training.
	Epochs int
	// Seed of all random numbers, see [Run.Stream].
	Seed int
	// EvalEachEpoch as in Study, Decoded as in Experiment.
	EvalEachEpoch bool `json:"Traced"`
	Decoded       bool
}

// TracedImages is the largest number of training images, the first ones, that a run is measured on
// after each epoch.
const TracedImages = 10_000

// Dataset identifies a data set.
type Dataset struct {
	// Name, such as "cifar10", and SHA256, the fingerprint of its images and labels.
	Name, SHA256 string
	// Train and Test are its numbers of images.
	Train, Test int
}

// Overrides are a user's changes to a profile. Zero fields change nothing.
type Overrides struct {
	// Width is the number of filters of the first block; Images limits the training images; Epochs and
	// Seeds are as in Scale.
	Width, Images, Epochs, Seeds int `json:",omitempty"`
	// HeldOut measures on that many images from the end of the training set in place of the test set,
	// to choose hyperparameters.
	HeldOut int `json:",omitempty"`
	// Set changes hyperparameters, see [Hyper.Set].
	Set string `json:",omitempty"`
}

// Flags returns the overrides as the command line takes them: " --epochs 2 --set \"crop=0\"".
func (o Overrides) Flags() (flags string) {
	for _, number := range o.numbers() {
		if number.value != 0 {
			flags += fmt.Sprintf(" --%s %d", number.flag, number.value)
		}
	}
	if o.Set != "" {
		flags += fmt.Sprintf(" --set %q", o.Set)
	}
	return flags
}

// number is an override that is a number, with its flag and its largest value.
type number struct {
	flag       string
	value, max int
}

// numbers returns all overrides that are numbers.
func (o Overrides) numbers() []number {
	return []number{
		{"width", o.Width, 4096}, {"images", o.Images, 1 << 30}, {"epochs", o.Epochs, 10_000},
		{"seeds", o.Seeds, maxSeeds}, {"held-out", o.HeldOut, 1 << 30},
	}
}

// Validate returns an error if no run can have an override.
func (o Overrides) Validate() error {
	for _, number := range o.numbers() {
		if number.value < 0 || number.value > number.max {
			return fmt.Errorf("--%s %d is out of range: choose 1 to %d", number.flag, number.value,
				number.max)
		}
	}
	if len(o.Set) > 1000 || !Printable(o.Set) { // records take no such text
		return fmt.Errorf("--set %.80q: write it in one line of at most 1000 characters, without tabs",
			o.Set)
	}
	_, err := Recipe.Set(o.Set)
	return err
}

// Printable reports whether a text has no characters that a terminal or a page takes for commands.
// Records take no other text.
func Printable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

// Plan returns the runs of a study's experiments at a profile's scale, one a seed.
func Plan(study Study, profile Profile, set Dataset, o Overrides) (runs []Run, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	scale, ok := profile.Scales[study.Name]
	if !ok {
		return nil, fmt.Errorf("profile %s has no study %s: choose another with --profile",
			profile.Name, study.Name)
	}
	left := set.Train - o.HeldOut
	if left > 0 && o.Images > left {
		return nil, fmt.Errorf("--images %d: there are %d to train on", o.Images, left)
	}
	scale.Width, scale.Epochs = cmp.Or(o.Width, scale.Width), cmp.Or(o.Epochs, scale.Epochs)
	scale.TrainImages = min(cmp.Or(o.Images, scale.TrainImages, left), left)
	for _, e := range study.Experiments {
		if reads := e.reads(); reads != "" && study.Images != "" && reads != study.Images {
			return nil, fmt.Errorf("%s reads %s, and study %s is on %s: set its Images to that, or put "+
				"it into a study on %s", e.Name, reads, study.Name, study.Images, reads)
		}
		rowScale := scale
		if e.Rescale != nil {
			e.Rescale(&rowScale)
		}
		testImages := min(cmp.Or(scale.TestImages, set.Test), set.Test)
		run := Run{
			Version: Version, Experiment: e.Name, Profile: profile.Name,
			Network: e.Network(rowScale.Width), Dataset: set, TrainImages: rowScale.TrainImages,
			HeldOut: o.HeldOut, TestImages: cmp.Or(o.HeldOut, testImages), Epochs: rowScale.Epochs,
			EvalEachEpoch: study.EvalEachEpoch, Decoded: e.Decoded && o.HeldOut == 0,
		}
		if run.Hyper, err = Recipe.Changed(scale.Change, e.Change).Set(o.Set); err != nil {
			return nil, err
		}
		for seed := 1; seed <= cmp.Or(o.Seeds, scale.Seeds); seed++ {
			run.Seed = seed
			if o.HeldOut > 0 {
				run.Seed += heldOutSeeds
			}
			if err := run.Validate(); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name, err)
			}
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// Purpose is what random numbers are for. Each purpose has numbers of its own, so that a change in
// one leaves the others.
type Purpose string

const (
	InitialValues Purpose = "initial values" // of the variables
	Order         Purpose = "order"          // of the training images in an epoch
	Augmentation  Purpose = "augmentation"   // flips and crops of an epoch
	Dropout       Purpose = "dropout"        // masks of an epoch
)

// Stream returns the seed of one stream of random numbers: a hash of the run's seed, the purpose
// and the epoch (from 0), and of nothing else. So runs with the same seed have the same initial
// values, order, augmentation and dropout, and their differences are paired.
func (r Run) Stream(purpose Purpose, epoch int) int64 {
	hash := sha256.Sum256(fmt.Appendf(nil, "seed %d, %s, epoch %d", r.Seed, purpose, epoch))
	return int64(binary.BigEndian.Uint64(hash[:]) >> 1)
}

// Width returns the number of filters of the network's first block.
func (r Run) Width() int { return r.Network.Blocks()[0].Block.Filters }

// Validate returns an error if the run cannot be trained. It compiles nothing.
func (r Run) Validate() error {
	if err := r.Network.Validate(); err != nil {
		return err
	}
	if err := r.Hyper.Validate(); err != nil {
		return err
	}
	n := r.Network
	switch {
	case max(n.Height, n.Width) > MaxSide || n.Classes > MaxClasses ||
		n.Channels != 1 && n.Channels != 3:
		return fmt.Errorf("images of %d by %d pixels, %d channels, in %d classes: no data set has such",
			n.Height, n.Width, n.Channels, n.Classes)
	case r.HeldOut < 0 || r.HeldOut >= r.Dataset.Train:
		return fmt.Errorf("--held-out %d leaves nothing to train on: the data set has %d training "+
			"images", r.HeldOut, r.Dataset.Train)
	case r.Epochs < 0:
		return fmt.Errorf("%d epochs: at least 0 are needed", r.Epochs)
	case r.Seed < 1 || r.Seed > heldOutSeeds+maxSeeds:
		return fmt.Errorf("seed %d is out of range", r.Seed)
	case r.TrainImages < 1 || r.TrainImages > r.Dataset.Train-r.HeldOut ||
		r.TestImages < 2 || r.TestImages > max(r.HeldOut, r.Dataset.Test):
		return fmt.Errorf("%d training and %d test images: at least 1 and 2 are needed, and no more "+
			"than there are", r.TrainImages, r.TestImages)
	case r.Hyper.Batch > r.TrainImages:
		half := max(1, r.TrainImages/2) // fits even if more of one's own pictures test than is expected
		return fmt.Errorf("batch_size=%d does not fit: there are at most %d training images; take "+
			"more, or --set batch_size=%d", r.Hyper.Batch, r.TrainImages, 1<<(bits.Len(uint(half))-1))
	}
	return nil
}

// StepsPerEpoch returns the number of training steps in an epoch. Images that do not fill a batch
// are left out of the epoch.
func (r Run) StepsPerEpoch() int { return r.TrainImages / r.Hyper.Batch }

// Steps returns the number of training steps in all epochs.
func (r Run) Steps() int { return r.Epochs * r.StepsPerEpoch() }

// Work estimates the work of training: the products of all convolutions, forward.
func (r Run) Work() float64 { return r.Network.Products() * float64(r.TrainImages*r.Epochs) }

// ID returns the run's name: experiment, seed and a hash of the whole description. Two runs with
// the same ID have the same result on the same kind of processor; elsewhere they differ by
// rounding.
func (r Run) ID() string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // a description has no values that JSON lacks
	}
	hash := sha256.Sum256(text)
	return fmt.Sprintf("%s-%d-%s", r.Experiment, r.Seed, hex.EncodeToString(hash[:5]))
}
