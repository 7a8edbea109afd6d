// Package train carries out the runs that package experiments declares: it prepares the images, trains with GoMLX's
// Trainer and Loop, saves a checkpoint every epoch and where it is told to stop, goes on from the last checkpoint, measures, and records.
//
// A newcomer reads runner.go (what a run needs), train.go (a run from start to end), muon.go, augment.go, evaluate.go, checkpoint.go,
// model.go (the trained network in a file).
package train
