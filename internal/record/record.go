// Package record keeps finished runs as files that prove themselves. A record holds the whole description of its run and the
// predictions for every test image, so that its ID and its errors can be computed again. Loading does so, and refuses a record
// that does not fit. Reports follow from records alone.
package record

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
)

// Format of a record's file. It is raised when fields change their meaning.
const Format = 1

// Record is a finished run: one file, <ID>.json, written in one step and never changed.
type Record struct {
	// Format of the file, see the constant.
	Format int
	// ID of the run: experiment, seed and a hash of Run.
	ID string
	// Run is the whole description of the run.
	Run experiments.Run
	// Parameters of the network, offsets included.
	Parameters int
	// TrainErr and TestErr in percent after the last epoch, without augmentation and dropout.
	TrainErr, TestErr float64
	// TrainObjective and TestObjective are Eq. (train_obj2) likewise: the mean log-loss in nats, plus the penalty of the variables.
	TrainObjective, TestObjective float64
	// Penalty is the part of both that is the penalty α/2 (‖ŵ‖² + ‖d‖²), in nats; nil in records from before it was kept.
	Penalty *float64 `json:",omitempty"`
	// Seconds of training and evaluation. Steps that a killed run lost do not count.
	Seconds float64
	// Finished is the time at which the run ended.
	Finished time.Time
	// Origin names the program and the computer.
	Origin Origin
	// Curve is the learning curve, an epoch after another.
	Curve []Epoch
	// Predictions and Labels are the classes of the test images in their order, a digit each: '0' stands for class 0.
	Predictions, Labels string
	// Decodings of the trained network, in studies that report them.
	Decodings *Decodings `json:",omitempty"`
	// SHA256 of the file with this field empty.
	SHA256 string
}

// Origin names the program and the computer that a record comes from.
type Origin struct {
	// Commit that the program was built from, "unknown" without one; Go and GoMLX are versions; Plugin names the XLA plugin.
	Commit, Go, GoMLX, Plugin string
	// System, such as "linux/amd64"; CPU is the processor's name and Cores the number of its cores that the run could use.
	System, CPU string
	Cores       int
	// GPU is the name of the device that computed, if it was one.
	GPU string `json:",omitempty"`
}

// Processor is the name of what computed: the GPU, or else the CPU.
func (o Origin) Processor() string { return cmp.Or(o.GPU, o.CPU) }

// Then is the origin of a run that a program and a computer began and others went on with: both names where they differ, and the cores of
// the latter.
func (o Origin) Then(next Origin) Origin {
	both := func(first, second string) string {
		if slices.Contains(strings.Split(first, " then "), second) {
			return first
		}
		return first + " then " + second
	}
	return Origin{
		Commit: both(o.Commit, next.Commit), Go: both(o.Go, next.Go), GoMLX: both(o.GoMLX, next.GoMLX), Plugin: both(o.Plugin, next.Plugin),
		System: both(o.System, next.System), CPU: both(o.CPU, next.CPU), Cores: next.Cores, GPU: both(o.GPU, next.GPU),
	}
}

// Epoch is a point of a learning curve.
type Epoch struct {
	// Epoch counts from 1; Step is the number of training steps so far.
	Epoch, Step int
	// BatchLoss in nats and BatchErr in percent: means over the epoch's batches while training, with augmentation, dropout and smoothed
	// labels, as far as the settings have them.
	BatchLoss, BatchErr float64
	// Seconds that the epoch took, with its trace.
	Seconds float64
	// Trace is the measurement after the epoch; nil if the run is not traced.
	Trace *Trace `json:",omitempty"`
}

// Trace is a measurement after an epoch, without augmentation and dropout.
type Trace struct {
	// Objective in nats and TrainErr in percent on the first training images; TestErr in percent on the test images.
	Objective, TrainErr, TestErr float64
	// Penalty is the part of the objective that is the penalty of the variables; nil in records from before it was kept.
	Penalty *float64 `json:",omitempty"`
}

// TrainLoss is the mean log-loss of the training images after the last epoch, in nats: the objective without its penalty. It is NaN for a record
// from before the penalty was kept, unless its α is 0.
func (r Record) TrainLoss() float64 { return r.withoutPenalty(r.TrainObjective, r.Penalty) }

// TracedLoss is likewise that of the first training images after a traced epoch.
func (r Record) TracedLoss(epoch Epoch) float64 {
	return r.withoutPenalty(epoch.Trace.Objective, epoch.Trace.Penalty)
}

// withoutPenalty is an objective without the penalty that it holds.
func (r Record) withoutPenalty(objective float64, penalty *float64) float64 {
	if penalty != nil {
		return objective - *penalty
	}
	if alpha, _ := r.Run.Settings.Number(ebssc.ParamAlpha); alpha > 0 {
		return math.NaN()
	}
	return objective
}

// Decodings are the measurements of Sec. 4.2 on a trained network.
type Decodings struct {
	// Trained and Untrained have a line a block: of the trained network, and of the same network before training.
	Trained, Untrained []decode.Fidelity
	// Images is the number of test images that they are means over; Seconds is the time that the measurement of one network took.
	Images  int
	Seconds float64
	// Figures drawn of the decodings.
	Figures []Figure
}

// Figure is a picture beside the record.
type Figure struct {
	// File in the profile's figures folder, Title of the picture, and SHA256 of the file.
	File, Title, SHA256 string
}
