package experiments

import "ebsscgo/ebssc"

// Experiment is a network to train: a row of the paper's table, or a line in its figure.
type Experiment struct {
	// Name on the command line, in results and in folders; Title as the paper writes it.
	Name, Title string
	// Architecture makes the network at any width.
	Architecture
	// Change makes the hyperparameters of the scale those of the experiment; nil for none.
	Change func(*Hyper)
	// Rescale makes the width, training images and epochs of the study's scale, after a user's
	// changes, those of the experiment; nil for none.
	Rescale func(*Scale)
	// Base names the experiment of the same study, or of one declared before it, that this one
	// changes in one thing. Adds says in which, in a few words. Reports show the difference.
	Base, Adds string
	// Decoded experiments have the codes of their trained network decoded from every block (Sec. 4.2).
	Decoded bool
	// Paper holds the paper's numbers; empty for your own experiment.
	Paper Paper
}

// Architecture makes a network at any width.
type Architecture interface {
	// Network returns the network whose first block has width filters.
	Network(width int) ebssc.Network
}

// Paper holds the numbers that the paper reports for a row, rounded as in the paper.
type Paper struct {
	// TrainErr, 0 where the paper has none, and TestErr in percent.
	TrainErr, TestErr float64
	// Params is the number of parameters, such as "2.6M"; empty where the paper has none.
	Params string
}
