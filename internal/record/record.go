// Package record keeps finished runs as files that are verified when they are read. A record holds
// the whole description of its run and the predictions for every test image, so that its ID and its
// test error can be computed again, and a checksum. That protects against damage and careless
// edits. It does not prove who wrote the file. Reports follow from records alone.
package record

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"ebsscgo/experiments"
)

// Format of a record's file. It is raised when fields change their meaning.
const Format = 2

// Record is a finished run: one file, <ID>.json, written in one step and never changed.
type Record struct {
	// Format of the file, see the constant.
	Format int
	// ID of the run: experiment, seed and a hash of Run.
	ID string
	// Run is the whole description of the run.
	Run experiments.Run
	// Overrides of the profile that the run was planned with, and Command, the command line that
	// planned it.
	Overrides experiments.Overrides
	Command   string
	// Classes are the names of the classes of a person's own pictures; nil for declared data sets.
	Classes []string `json:",omitempty"`
	// Parameters of the network, offsets included.
	Parameters int
	// Training is what the training gave.
	Training
	// Decodings of the trained network, if the run has them.
	Decodings *Decodings `json:",omitempty"`
	// Network has the checksums of the trained network's file.
	Network NetworkSums
	// SHA256 of the file with this field empty.
	SHA256 string
}

// Training is what the training of a run gave.
type Training struct {
	// TrainErr and TestErr in percent after the last epoch, without augmentation and dropout.
	TrainErr, TestErr float64
	// TrainLoss and TestLoss are the mean log-losses likewise, in nats: Eq. (train_obj2) without the
	// penalty α/2 (‖ŵ‖² + ‖d‖²), which is Penalty.
	TrainLoss, TestLoss, Penalty float64
	// Seconds of training and evaluation. Steps that a killed run lost do not count.
	Seconds float64
	// Finished is the time at which the run ended.
	Finished time.Time
	// Origin names the program and the computer.
	Origin Origin
	// Curve is the learning curve, an epoch after another.
	Curve []Epoch
	// Predictions and Labels are the classes of the test images in their order, see [ClassText]: of at
	// most ten classes a digit each.
	Predictions, Labels string
}

// NetworkSums has the SHA-256 of a trained network's file, and of the same file with its values in
// half precision.
type NetworkSums struct{ SHA256, HalfSHA256 string }

// Origin names the program and the computer that a record comes from.
type Origin struct {
	// Commit that build.sh built the program from, or "unknown"; Go and GoMLX are versions.
	Commit, Go, GoMLX string
	// Backend that computed (xla-cpu, xla-cuda, xla-cuda-float32 without TF32, or go), and the XLA
	// Plugin.
	Backend, Plugin string
	// Devices is 1: a run trains on one.
	Devices int
	// System, such as "linux/amd64"; CPU is the processor's name and Cores the number of its cores
	// that the run could use.
	System, CPU string
	Cores       int
	// Threads of XLA on a CPU, which decide how sums are rounded; 0 on other backends, where it is
	// not known for all of the run, and in records of before it was fixed.
	Threads int `json:",omitempty"`
	// GPU is the name of the device that computed, if it was one.
	GPU string `json:",omitempty"`
}

// ResumedOn returns the origin of a run that began on o and was resumed on next. Fields that differ
// read "first then second"; Cores are next's, and so are Threads if o has as many.
func (o Origin) ResumedOn(next Origin) Origin {
	join := func(first string, then *string) {
		before, now := cmp.Or(first, "none"), cmp.Or(*then, "none")
		*then = before + " then " + now
		if slices.Contains(strings.Split(before, " then "), now) {
			*then = first
		}
	}
	join(o.Commit, &next.Commit)
	join(o.Go, &next.Go)
	join(o.GoMLX, &next.GoMLX)
	join(o.Backend, &next.Backend)
	join(o.Plugin, &next.Plugin)
	join(o.System, &next.System)
	join(o.CPU, &next.CPU)
	join(o.GPU, &next.GPU)
	if o.Threads != next.Threads {
		next.Threads = 0
	}
	return next
}

// Epoch is a point of a learning curve.
type Epoch struct {
	// Epoch counts from 1; Step is the number of training steps so far.
	Epoch, Step int
	// BatchLoss in nats and BatchErr in percent: means over the epoch's batches while training, with
	// augmentation and dropout, and with the penalty.
	BatchLoss, BatchErr float64
	// Seconds that the epoch took, with its trace.
	Seconds float64
	// Trace is the measurement after the epoch; nil if the run has none.
	Trace *Trace `json:",omitempty"`
}

// Trace is a measurement after an epoch, without augmentation and dropout.
type Trace struct {
	// TrainLoss in nats, without the penalty, and TrainErr in percent on the first
	// [experiments.TracedImages]; TestErr in percent on the test images.
	TrainLoss, TrainErr, TestErr float64
}

// Decodings are the measurements of Sec. 4.2 on a trained network.
type Decodings struct {
	// Trained and Untrained have an element a block: of the trained network, and of the same network
	// before training.
	Trained, Untrained []BlockMeasures
	// Images is the number of test images that they are means over; Seconds is the time that the
	// measurement of one network took.
	Images  int
	Seconds float64
	// Figures drawn of the decodings.
	Figures []Figure
}

// BlockMeasures has the measures of decodings from one block: means over images.
type BlockMeasures struct {
	// Block is the block's name.
	Block string
	// Linear and Rectified measure reconstructions by the two decoders, with zero thresholds in all
	// blocks.
	Linear, Rectified Similarity
	// Difference is the variation of the decoded features between hypotheses: their squared distance
	// from the mean over hypotheses, divided by their squared norm. It is nil if the code does not
	// depend on the hypothesis.
	Difference *float64 `json:",omitempty"`
	// InkShare is the fraction of that squared distance on a digit's ink, the pixels brighter than the
	// background, and InkArea is the fraction of pixels with ink. Both are nil for other images, and
	// if Difference is nil.
	InkShare *float64 `json:",omitempty"`
	InkArea  *float64 `json:",omitempty"`
	// BiasSpread is the share of the image over which the decoded class biases spread, see
	// [experiments.BiasSpread]; nil without class biases.
	BiasSpread *float64 `json:",omitempty"`
}

// Similarity compares images with their reconstructions from a block's code.
type Similarity struct {
	// Cosine of the angle between an image and its reconstruction, in the space of the network's
	// input; Control is that of another image's code under the image's own switches.
	Cosine, Control float64
	// ImageCosine and ImageControl are the same in the space of the image, after the inverse of
	// whitening; nil for images that are not whitened.
	ImageCosine  *float64 `json:",omitempty"`
	ImageControl *float64 `json:",omitempty"`
}

// Figure is a picture beside the record.
type Figure struct {
	// File in the profile's figures folder, Title of the picture, and SHA256 of the file.
	File, Title, SHA256 string
}

// Value returns a quantity of the run, or of the block that the term names, in the network before
// training if it says so; nil if it was not measured.
func (r Record) Value(quantity experiments.Quantity, term experiments.Term) *float64 {
	switch quantity {
	case experiments.TestErr:
		return &r.TestErr
	case experiments.TrainErr:
		return &r.TrainErr
	case experiments.TrainLoss:
		return &r.TrainLoss
	case experiments.LogTrainLoss:
		return new(math.Log(max(r.TrainLoss, 1e-9)))
	}
	if r.Decodings == nil {
		return nil
	}
	for _, block := range r.Decodings.Blocks(!term.Untrained) {
		if block.Block == term.Block {
			return block.Value(quantity)
		}
	}
	return nil
}

// Blocks returns the measurements of the trained network, or of it before training.
func (d Decodings) Blocks(trained bool) []BlockMeasures {
	if trained {
		return d.Trained
	}
	return d.Untrained
}

// Value returns a quantity of a block; nil if it was not measured.
func (b BlockMeasures) Value(quantity experiments.Quantity) *float64 {
	switch quantity {
	case experiments.LinearFidelity:
		return new(b.Linear.Fidelity())
	case experiments.RectifiedFidelity:
		return new(b.Rectified.Fidelity())
	case experiments.ClassDifference:
		return b.Difference
	case experiments.BiasSpread:
		return b.BiasSpread
	}
	return nil
}

// Learned reports whether the run's network errs on the training images by more than 5 points less
// than chance does.
func (r Record) Learned() bool { return r.TrainErr < 100*(1-1/float64(r.Run.Network.Classes))-5 }

// Fidelity returns how far the reconstruction closes the gap between the control and the image, in
// the space of the network's input; 1 is the image itself.
func (s Similarity) Fidelity() float64 { return (s.Cosine - s.Control) / (1 - s.Control) }
