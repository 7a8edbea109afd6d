package experiments

import (
	"fmt"
	"math"
)

// Claim is a statement of the paper about its results, with the measurements that it predicts.
// docs/protocol.md says how it is judged.
type Claim struct {
	// Name in results; Says is the claim, close to the paper's words, and Where the place in the
	// paper.
	Name, Says, Where string
	// Ours marks a claim of this project. It is judged like the paper's, and corrected for the
	// number of its own kind.
	Ours bool
	// Reading says how words became numbers; empty where nothing had to be chosen.
	Reading string
	// ReadOff marks a claim that the paper's text does not state: it was read off a table, or off
	// what the source has commented out.
	ReadOff bool
	// Expect lists what the claim predicts: it holds if all expectations hold, and fails if one is
	// reversed. Beside lists what is measured beside it and not judged; it has no bounds.
	Expect, Beside []Expectation
}

// Expectation predicts that a weighted sum of one quantity lies between two bounds: mostly a
// difference between two experiments.
type Expectation struct {
	Quantity Quantity
	Terms    []Term
	// Low and High are the bounds, in the quantity's unit.
	Low, High float64
}

// Term is a quantity of an experiment, or of one block of its network, with its weight in a sum.
type Term struct {
	Weight float64
	// Experiment by its name, and Block of its network for quantities of decodings.
	Experiment, Block string
	// Untrained measures the block before training.
	Untrained bool
}

// Quantity is a measurement of a trained network: its name with its unit, the format of its
// numbers, and whether it is measured in a block of the network.
type Quantity struct {
	Name, Format string
	InBlock      bool
}

var (
	// TestErr is the share of test images that are misclassified, in percent; TrainErr that of the
	// training images, without augmentation and dropout.
	TestErr  = Quantity{Name: "test error, points", Format: "%.2f"}
	TrainErr = Quantity{Name: "training error, points", Format: "%.2f"}
	// TrainLoss is the mean log-loss over the training images, in nats: the objective of Eq.
	// (train_obj2) without the penalty. It is compared where the factor on the energies and α are
	// equal.
	TrainLoss = Quantity{Name: "training loss, nats", Format: "%.4f"}
	// LogTrainLoss is its natural logarithm: losses of sweeps differ by factors.
	LogTrainLoss = Quantity{Name: "logarithm of the training loss", Format: "%.2f"}
	// LinearFidelity and RectifiedFidelity say how far reconstructions from a block's code, all
	// thresholds zero, close the gap between the control and the image: (cosine − control) / (1 −
	// control), with the cosine of the angle between image and reconstruction in the space of the
	// network's input. The control is another image's code, decoded under the image's own switches.
	// The decoder is linear, or rectified on the way down.
	LinearFidelity    = Quantity{Name: "fidelity, linear decoder", Format: "%.2f", InBlock: true}
	RectifiedFidelity = Quantity{Name: "fidelity, rectified decoder", Format: "%.2f", InBlock: true}
	// ClassDifference is the part of a block's decoding that depends on the class hypothesis: the
	// squared distance from the mean over hypotheses, divided by the squared length.
	ClassDifference = Quantity{Name: "class difference", Format: "%.3g", InBlock: true}
	// BiasSpread is the share of the image over which a decoded class bias spreads: with p the squared
	// difference of its pixels from the mean over hypotheses, summed over channels, (Σp)² / (N Σp²).
	// It is 1 where all N pixels have as much, and 1/N where one has all.
	BiasSpread = Quantity{Name: "spread of class biases", Format: "%.3f", InBlock: true}
)

// difference predicts that a quantity of one term minus that of another lies between two bounds.
func difference(quantity Quantity, subject, base Term, low, high float64) Expectation {
	subject.Weight, base.Weight = 1, -1
	return Expectation{quantity, []Term{subject, base}, low, high}
}

// between predicts that a quantity of one experiment minus that of its base lies between two
// bounds.
func between(quantity Quantity, subject, base string, low, high float64) Expectation {
	return difference(quantity, Term{Experiment: subject}, Term{Experiment: base}, low, high)
}

// Lower predicts that a quantity is lower in one experiment than in its base.
func Lower(quantity Quantity, subject, base string) Expectation {
	return between(quantity, subject, base, -infinity, 0)
}

// larger predicts that one difference of a quantity is above another one's, each of an experiment
// and its base.
func larger(quantity Quantity, subject, base, other, otherBase string) Expectation {
	return Expectation{quantity, []Term{{Weight: 1, Experiment: subject},
		{Weight: -1, Experiment: base}, {Weight: -1, Experiment: other},
		{Weight: 1, Experiment: otherBase}}, 0, infinity}
}

// infinity and −infinity stand for no bound.
var infinity = math.Inf(1)

// tableClaims are the claims of Sec. 4.1 about the rows of Table 2.
var tableClaims = []Claim{
	{Name: "proposed", Where: "Sec. 4.1, Table 2",
		Says:   "The proposed model, SSC+EBC₆₋₇, outperforms the baseline, ReLU+LC₇.",
		Expect: []Expectation{Lower(TestErr, "ssc-ebc67", "relu-lc7")}},
	{Name: "crelu", Where: "Sec. 4.1, Table 2",
		Says: "Splitting positive and negative activations lowers the test error by more than one " +
			"point.",
		Expect: []Expectation{between(TestErr, "crelu-lc7", "relu-lc7", -infinity, -1)}},
	{Name: "spherical", Where: "Sec. 4.1, Table 2",
		Says:   "Spherical normalisation lowers the test error further.",
		Expect: []Expectation{Lower(TestErr, "crelu-sn-lc7", "crelu-lc7")}},
	{Name: "sparse", Where: "Sec. 4.1, Table 2",
		Says: "Further sparsifying the activations yields no benefit.",
		Reading: "a benefit is 0.43 points or more, the least that the paper calls one (of spherical " +
			"normalisation)",
		Expect: []Expectation{between(TestErr, "ssc-lc7", "crelu-sn-lc7", -0.43, infinity)}},
	{Name: "ebc", Where: "Sec. 4.1, Table 2",
		Says:   "The energy-based classifier lowers the test error further.",
		Expect: []Expectation{Lower(TestErr, "ssc-ebc67", "ssc-lc7")}},
	{Name: "ebc-half-a-point", Where: "Sec. 4.1, Table 2",
		Says:    "It does so by another half percent.",
		Reading: "by more than 0 and less than 1 point",
		Expect:  []Expectation{between(TestErr, "ssc-ebc67", "ssc-lc7", -1, 0)}},
	{Name: "ebc-train", Where: "Table 2", ReadOff: true,
		Says:    "The energy-based classifier has the lowest training error.",
		Reading: "lower than each other row's; the text does not say so",
		Expect: []Expectation{
			Lower(TrainErr, "ssc-ebc67", "relu-lc7"), Lower(TrainErr, "ssc-ebc67", "crelu-lc7"),
			Lower(TrainErr, "ssc-ebc67", "crelu-sn-lc7"), Lower(TrainErr, "ssc-ebc67", "ssc-lc7")}},
}

// unrollClaims are the claims of Sec. 3.1.1 about numbers of sweeps.
var unrollClaims = []Claim{
	{Name: "sweeps-objective", Where: "Sec. 3.1.1, Fig. 3a",
		Says: "More sweeps of inference give a lower training objective, with convergence after a few.",
		Reading: "the training loss falls with each of the first two sweeps, and rises by at most a " +
			"tenth with each of the next two",
		Expect: []Expectation{
			Lower(LogTrainLoss, "unroll-1", "unroll-0"), Lower(LogTrainLoss, "unroll-2", "unroll-1"),
			between(LogTrainLoss, "unroll-3", "unroll-2", -infinity, math.Log(1.1)),
			between(LogTrainLoss, "unroll-4", "unroll-3", -infinity, math.Log(1.1))}},
	{Name: "sweep-once", Where: "Sec. 3.1.1",
		Says:    "The first sweep lowers the test error, from 1.31 % to 0.74 %.",
		Reading: "lower, by however much",
		Expect:  []Expectation{Lower(TestErr, "unroll-1", "unroll-0")}},
	{Name: "sweeps-few", Where: "Sec. 3.1.1, Fig. 3b",
		Says: "One or two sweeps have lower test errors than three or four.",
		Expect: []Expectation{
			Lower(TestErr, "unroll-1", "unroll-3"), Lower(TestErr, "unroll-1", "unroll-4"),
			Lower(TestErr, "unroll-2", "unroll-3"), Lower(TestErr, "unroll-2", "unroll-4")}},
	{Name: "sweep-biggest", Where: "Sec. 3.1.1, Fig. 3",
		Says: "The biggest difference is between no sweep and one, where both training objective " +
			"and test error go down.",
		Reading: "the first sweep lowers training loss and test error by more than any other one " +
			"changes them",
		Expect: append(firstBiggest(TrainLoss), firstBiggest(TestErr)...)},
}

// firstBiggest predicts that the first sweep lowers a quantity by more than each of the next three
// changes it, in either direction.
func firstBiggest(quantity Quantity) (all []Expectation) {
	for step := 2; step <= 4; step++ {
		after, before := fmt.Sprintf("unroll-%d", step), fmt.Sprintf("unroll-%d", step-1)
		for _, sign := range []float64{1, -1} {
			terms := []Term{
				{Weight: 1, Experiment: "unroll-1"}, {Weight: -1, Experiment: "unroll-0"},
				{Weight: sign, Experiment: after}, {Weight: -sign, Experiment: before},
			}
			all = append(all, Expectation{quantity, terms, -infinity, 0})
		}
	}
	return all
}

// decodingClaims are the claims of Sec. 4.2 about Fig. 4.
var decodingClaims = []Claim{
	{Name: "reconstructions-linear", Where: "Sec. 4.2, Fig. 4",
		Says: "Without class biases, reconstructions from all levels are of high fidelity.",
		Reading: "the linear decoder's reconstruction closes more than half of the gap between the " +
			"control and the image",
		Expect: faithful(LinearFidelity, "ssc-ebc17", 7)},
	{Name: "reconstructions-rectified", Where: "Sec. 4.2, Fig. 4",
		Says:    "Without class biases, reconstructions from all levels are of high fidelity.",
		Reading: "so does that of the decoder that is rectified on the way down",
		Expect:  faithful(RectifiedFidelity, "ssc-ebc17", 7)},
	{Name: "biases-localised", Where: "Sec. 4.2, Fig. 4",
		Says: "Class biases are spatially smooth at low levels and more tightly localised at higher " +
			"ones.",
		Reading: "decoded class biases spread over less of the image from block 7 than from block 2, " +
			"and from block 7 over less than before training",
		Expect: []Expectation{
			difference(BiasSpread, Term{Experiment: "ssc-ebc17", Block: "conv7"},
				Term{Experiment: "ssc-ebc17", Block: "conv2"}, -infinity, 0),
			difference(BiasSpread, Term{Experiment: "ssc-ebc17", Block: "conv7"},
				Term{Experiment: "ssc-ebc17", Block: "conv7", Untrained: true}, -infinity, 0)}},
}

// residualsClaims are the claims of Sec. 4.2 about Fig. 5.
var residualsClaims = []Claim{
	{Name: "class-differences", Where: "Sec. 4.2, Fig. 5",
		Says: "Differences across class hypotheses become more pronounced at higher levels, for digits.",
		Reading: "higher at every block than at the one below; beside it, the rise from block 2 to 5, " +
			"and the same before training",
		Expect: growing("ssc-ebc17-mnist", 7),
		Beside: []Expectation{
			difference(ClassDifference, Term{Experiment: "ssc-ebc17-mnist", Block: "conv5"},
				Term{Experiment: "ssc-ebc17-mnist", Block: "conv2"}, -infinity, infinity),
			difference(ClassDifference,
				Term{Experiment: "ssc-ebc17-mnist", Block: "conv5", Untrained: true},
				Term{Experiment: "ssc-ebc17-mnist", Block: "conv2", Untrained: true},
				-infinity, infinity)}},
}

// growing predicts that differences between hypotheses grow from each block to the next.
func growing(experiment string, blocks int) (all []Expectation) {
	for number := 2; number <= blocks; number++ {
		block := Term{Experiment: experiment, Block: blockName(number)}
		below := Term{Experiment: experiment, Block: blockName(number - 1)}
		all = append(all, difference(ClassDifference, block, below, 0, infinity))
	}
	return all
}

// Faithful reconstructions close more than this share of the gap between control and image.
const Faithful = 0.5

// faithful predicts that reconstructions from each block are faithful.
func faithful(quantity Quantity, experiment string, blocks int) (all []Expectation) {
	for number := 1; number <= blocks; number++ {
		block := Term{Weight: 1, Experiment: experiment, Block: blockName(number)}
		all = append(all, Expectation{quantity, []Term{block}, Faithful, infinity})
	}
	return all
}
