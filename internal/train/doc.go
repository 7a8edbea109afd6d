// Package train carries out the runs that package experiments declares: it prepares the images, trains with GoMLX's
// Trainer and Loop, saves a checkpoint every epoch and where it is told to stop, goes on from it, measures, and records.
//
// A newcomer reads lab.go (what a run needs), train.go (a run from start to end), augment.go, evaluate.go, checkpoint.go,
// record.go.
package train
