package experiments

import "math"

// Claim is something that the paper says of its results, as what must then be measured.
type Claim struct {
	// Name in results.
	Name string
	// Says is the claim, close to the paper's words, and Where it stands.
	Says, Where string
	// Reading says how words became numbers; empty where nothing had to be chosen.
	Reading string
	// Expect is what the claim predicts. It is reproduced if all of it is measured, and contradicted if one is not.
	Expect []Expectation
}

// Expectation predicts that a quantity of one thing, less that of another, lies between two bounds.
type Expectation struct {
	Quantity Quantity
	// Of is the one thing and Beside the other; without Beside the quantity itself is meant.
	Of, Beside Subject
	// Low and High are the bounds, in the quantity's unit.
	Low, High float64
}

// Subject is what a quantity is measured of.
type Subject struct {
	// Experiment by its name.
	Experiment string
	// Block of its network, for quantities of decodings.
	Block string
}

// Quantity is something that is measured of a trained network.
type Quantity string

const (
	// TestErr is the share of test images that are misclassified, in percent; TrainErr that of the training images, without
	// augmentation and dropout.
	TestErr  Quantity = "test error"
	TrainErr Quantity = "train error"
	// TrainObjective is Eq. (train_obj2) over the training images, in nats.
	TrainObjective Quantity = "training objective"
	// Cosine is that of the angle between a test image and its reconstruction from a block's code, all thresholds zero.
	Cosine Quantity = "cosine"
	// ClassDifference is how much of the decoding from a block hangs on the class hypothesis: the squared distance from the
	// mean over hypotheses, over the squared length.
	ClassDifference Quantity = "class difference"
)

// between predicts that a quantity of one experiment, less that of another, lies between two bounds.
func between(quantity Quantity, of, beside string, low, high float64) Expectation {
	return Expectation{quantity, Subject{Experiment: of}, Subject{Experiment: beside}, low, high}
}

// lower predicts that a quantity is lower in one experiment than in another.
func lower(quantity Quantity, of, than string) Expectation {
	return between(quantity, of, than, math.Inf(-1), 0)
}

// Claims are what the paper says of its results, in its order. Some stand in its source alone, commented out.
var Claims = []Claim{
	{
		Name: "sweeps-objective", Where: "Sec. 3.1.1, Fig. 3a",
		Says:    "More sweeps of inference give a lower training objective, with convergence after a few.",
		Reading: "lower with each of the first two, and with the next two not higher by more than 0.01 nats",
		Expect: []Expectation{
			lower(TrainObjective, "unroll-1", "unroll-0"), lower(TrainObjective, "unroll-2", "unroll-1"),
			between(TrainObjective, "unroll-3", "unroll-2", math.Inf(-1), 0.01), between(TrainObjective, "unroll-4", "unroll-3", math.Inf(-1), 0.01),
		},
	},
	{
		Name: "sweep-once", Where: "Sec. 3.1.1",
		Says:   "The first sweep lowers the test error, from 1.31 % to 0.74 %.",
		Expect: []Expectation{lower(TestErr, "unroll-1", "unroll-0")},
	},
	{
		Name: "sweeps-few", Where: "Sec. 3.1.1, Fig. 3b",
		Says: "One or two sweeps have lower test errors than three or four.",
		Expect: []Expectation{
			lower(TestErr, "unroll-1", "unroll-3"), lower(TestErr, "unroll-1", "unroll-4"),
			lower(TestErr, "unroll-2", "unroll-3"), lower(TestErr, "unroll-2", "unroll-4"),
		},
	},
	{
		Name: "crelu", Where: "Sec. 4.1, Table 2",
		Says:   "Splitting positive and negative activations lowers the test error by more than one point.",
		Expect: []Expectation{between(TestErr, "crelu-lc7", "relu-lc7", math.Inf(-1), -1)},
	},
	{
		Name: "spherical", Where: "Sec. 4.1, Table 2",
		Says:   "Spherical normalisation lowers the test error further.",
		Expect: []Expectation{lower(TestErr, "crelu-sn-lc7", "crelu-lc7")},
	},
	{
		Name: "sparse", Where: "Sec. 4.1, Table 2",
		Says:    "Further sparsifying the activations yields no benefit.",
		Reading: "a benefit is the smallest that the paper calls one, 0.43 points (of spherical normalisation)",
		Expect:  []Expectation{between(TestErr, "ssc-lc7", "crelu-sn-lc7", -0.43, math.Inf(1))},
	},
	{
		Name: "beta", Where: "Sec. 4.1",
		Says:   "β = 0.001 performs better than 0.01.",
		Expect: []Expectation{lower(TestErr, "ssc-lc7-base", "ssc-lc7-beta-0.01")},
	},
	{
		Name: "ebc", Where: "Sec. 4.1, Table 2",
		Says:   "The energy-based classifier lowers the test error further.",
		Expect: []Expectation{lower(TestErr, "ssc-ebc67", "ssc-lc7")},
	},
	{
		Name: "ebc-half-a-point", Where: "Sec. 4.1, Table 2",
		Says:    "It does so by another half percent.",
		Reading: "0.25 to 0.75 points",
		Expect:  []Expectation{between(TestErr, "ssc-ebc67", "ssc-lc7", -0.75, -0.25)},
	},
	{
		Name: "ebc-train", Where: "Table 2",
		Says: "The energy-based classifier has the lowest training error.",
		Expect: []Expectation{
			lower(TrainErr, "ssc-ebc67", "relu-lc7"), lower(TrainErr, "ssc-ebc67", "crelu-lc7"),
			lower(TrainErr, "ssc-ebc67", "crelu-sn-lc7"), lower(TrainErr, "ssc-ebc67", "ssc-lc7"),
		},
	},
	{
		Name: "average-pool", Where: "Sec. 4.1, commented out in the source",
		Says:   "Average pooling performs worse than max pooling.",
		Expect: []Expectation{lower(TestErr, "crelu-lc7-base", "crelu-avg-lc7"), lower(TestErr, "ssc-lc7-base", "ssc-avg-lc7")},
	},
	{
		Name: "ebc17", Where: "Sec. 4.1, commented out in the source",
		Says:    "With class-specific codes in all blocks, EBC₁₋₇, the model performs worse than the baseline.",
		Reading: "worse than CReLU+LC₇, and than the linear classifier with the same pooling",
		Expect:  []Expectation{lower(TestErr, "crelu-lc7-base", "ssc-avg-ebc17"), lower(TestErr, "ssc-avg-lc7", "ssc-avg-ebc17")},
	},
	{
		Name: "reconstructions", Where: "Sec. 4.2, Fig. 4",
		Says:    "Without class biases, reconstructions from all levels are of high fidelity.",
		Reading: "the reconstruction holds more than half of the image's energy: a cosine above 0.71",
		Expect:  faithful("ssc-ebc17", 7),
	},
	{
		Name: "class-differences", Where: "Sec. 4.2, Fig. 5",
		Says:    "Differences across class hypotheses become more pronounced at higher levels, for digits.",
		Reading: "from each block to the next",
		Expect:  growing("ssc-ebc17-mnist", 7),
	},
}

// faithful predicts that reconstructions from each block hold more than half of an image's energy.
func faithful(experiment string, blocks int) (all []Expectation) {
	for number := 1; number <= blocks; number++ {
		all = append(all, Expectation{Quantity: Cosine, Of: Subject{experiment, blockName(number)}, Low: math.Sqrt(0.5), High: math.Inf(1)})
	}
	return all
}

// growing predicts that differences between hypotheses grow from each block to the next.
func growing(experiment string, blocks int) (all []Expectation) {
	for number := 2; number <= blocks; number++ {
		all = append(all, Expectation{ClassDifference, Subject{experiment, blockName(number)}, Subject{experiment, blockName(number - 1)}, 0, math.Inf(1)})
	}
	return all
}
