// Package recordtest makes records for tests, without training.
package recordtest

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/record"
)

// sha is the made SHA-256 of data sets and networks.
var sha = strings.Repeat("0123456789abcdef", 4)

// Dataset returns the data set of made records: 1000 training and 200 test images.
func Dataset(images experiments.DataKind) experiments.Dataset {
	copies := images.Images().Copies
	at := slices.IndexFunc(copies, func(c experiments.Copy) bool { return c.Committed })
	return experiments.Dataset{Name: copies[at].Name, SHA256: sha, Train: 1000, Test: 200}
}

// New makes a record of an experiment's run at a profile. A quarter of the training images and a
// third of the test images are wrong. It is not saved yet, and can be changed before.
func New(
	t testing.TB, experiment, profile string, seed int, o experiments.Overrides,
) record.Record {
	study, _, err := catalogue.All.Experiment(experiment)
	require.NoError(t, err)
	scale, err := experiments.FindProfile(profile)
	require.NoError(t, err)
	planned := o
	planned.Seeds = seed
	runs, err := experiments.Plan(study, scale, Dataset(study.Images), planned)
	require.NoError(t, err)
	// seeds of runs on held-out images begin above 10,000
	at := slices.IndexFunc(runs, func(run experiments.Run) bool {
		return run.Experiment == experiment && run.Seed%10_000 == seed
	})
	r := Made(runs[at], 25, 100.0/3)
	r.Overrides, r.Command = o, "ebssc run "+experiment+" --profile "+profile+o.Flags()
	return r
}

// Own makes a record of an experiment's run on pictures of one's own, in colour, at profile quick.
// The data set has a name and numbers of images. The record is not saved yet.
func Own(
	t testing.TB, experiment string, set experiments.Dataset, classes ...string,
) record.Record {
	study, _, err := catalogue.All.Experiment(experiment)
	require.NoError(t, err)
	quick, err := experiments.FindProfile("quick")
	require.NoError(t, err)
	images := experiments.Images{Height: 32, Width: 32, Channels: 3, Classes: classes}
	set.SHA256 = sha
	runs, err := experiments.Plan(study.On(images), quick, set, experiments.Overrides{Seeds: 1})
	require.NoError(t, err)
	at := slices.IndexFunc(runs, func(run experiments.Run) bool {
		return run.Experiment == experiment
	})
	r := Made(runs[at], 25, 20)
	r.Classes = classes
	return r
}

// Made makes a record of a run with these errors in percent, of the test images the nearest that
// their number allows. Which of them are wrong depends on the seed.
func Made(run experiments.Run, trainErr, testErr float64) record.Record {
	wrong := int(math.Round(testErr / 100 * float64(run.TestImages)))
	var labels, predictions []uint16
	for i := range run.TestImages {
		predicted := i
		if (i+31*run.Seed)%run.TestImages < wrong {
			predicted++
		}
		labels = append(labels, uint16(i%run.Network.Classes))
		predictions = append(predictions, uint16(predicted%run.Network.Classes))
	}
	training := record.Training{
		TrainErr: trainErr, TrainLoss: 0.02 * trainErr, TestLoss: 1, Penalty: 0.25,
		Seconds: 12, Finished: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Predictions: record.ClassText(predictions, run.Network.Classes),
		Labels:      record.ClassText(labels, run.Network.Classes),
		Origin: record.Origin{Commit: "0123456789abcdef", Go: "go1.26", GoMLX: "v0.28.3",
			Backend: "xla-cpu", Plugin: "made", Devices: 1,
			System: "linux/amd64", CPU: "made 8480+", Cores: 2},
	}
	sums := record.NetworkSums{SHA256: sha, HalfSHA256: sha}
	r := record.Record{Run: run, Command: "ebssc run " + run.Experiment, Training: training,
		Network: sums}
	r.TestErr = r.ErrorRate()
	for epoch := 1; epoch <= run.Epochs; epoch++ {
		point := record.Epoch{Epoch: epoch, Step: epoch * run.StepsPerEpoch(),
			BatchLoss: 2 / float64(epoch), BatchErr: 80 / float64(epoch), Seconds: 3}
		if run.EvalEachEpoch {
			point.Trace = &record.Trace{TrainLoss: 1 / float64(epoch), TrainErr: 40 / float64(epoch),
				TestErr: r.TestErr}
		}
		r.Curve = append(r.Curve, point)
	}
	if run.Decoded {
		r.Decodings = &record.Decodings{Trained: levels(run, 0.9), Untrained: levels(run, 0.5),
			Images: min(100, run.TestImages), Seconds: 4}
	}
	return r
}

// levels makes measurements of a network's blocks. Cosines fall from a block to the next;
// differences between hypotheses grow.
func levels(run experiments.Run, cosine float64) (all []record.BlockMeasures) {
	for i, block := range run.Network.Blocks() {
		depth := 0.05 * float64(i)
		all = append(all, record.BlockMeasures{
			Block:  block.Name,
			Linear: record.Similarity{Cosine: cosine - depth, Control: 0.1},
			Rectified: record.Similarity{Cosine: cosine - depth/2, Control: 0.3,
				ImageCosine: new(cosine), ImageControl: new(0.2)},
			Difference: new(0.01 * float64(i+1)), BiasSpread: new(0.8 - depth),
		})
	}
	return all
}
