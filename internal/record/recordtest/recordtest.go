// Package recordtest makes records for tests, without training.
package recordtest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
)

// Dataset is the data set that made records name: 1000 training and 200 test images.
var Dataset = experiments.Dataset{Name: "cifar10-made", SHA256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", Train: 1000, Test: 200}

// Machine that made records name.
var Machine = experiments.Machine{Backend: "xla-cpu", Devices: 1}

// New makes a record of an experiment's run at a profile. A third of its predictions is wrong, at images that depend on the
// experiment and the seed. It is not written yet, and can be changed before.
func New(t testing.TB, suite experiments.Suite, experiment, profile string, seed int, o experiments.Overrides) record.Record {
	study, e, err := suite.Experiment(experiment)
	require.NoError(t, err)
	scale, err := experiments.FindProfile(profile)
	require.NoError(t, err)
	o.Seeds = seed
	runs, err := experiments.Plan(e, profile, scale.Scale(study), Dataset, Machine, o)
	require.NoError(t, err)
	return Of(t, runs[seed-1])
}

// Of makes a record of a run.
func Of(t testing.TB, run experiments.Run) record.Record {
	count, err := run.Network.Count()
	require.NoError(t, err)
	var salt uint64
	for _, letter := range run.Experiment {
		salt = 31*salt + uint64(letter)
	}
	rng := rand.New(rand.NewPCG(salt, uint64(run.Seed)))
	labels, predictions := make([]byte, run.TestImages), make([]byte, run.TestImages)
	for i := range labels {
		labels[i] = byte('0' + i%run.Network.Classes)
		predictions[i] = labels[i]
		if rng.IntN(3) == 0 {
			predictions[i] = byte('0' + (i+1)%run.Network.Classes)
		}
	}
	r := record.Record{
		Run: run, Parameters: count.Total(), TrainErr: 25, TrainObjective: 0.75, TestObjective: 1, Penalty: new(0.25), Seconds: 12,
		Finished: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Predictions: string(predictions), Labels: string(labels),
		Origin: record.Origin{Commit: "0123456789ab", Go: "go1.26", GoMLX: "v0.28.3", Plugin: "made", System: "linux/amd64", CPU: "made", Cores: 2},
	}
	r.TestErr = record.ErrorRate(r.Predictions, r.Labels)
	for epoch := range run.Epochs {
		point := record.Epoch{Epoch: epoch + 1, Step: (epoch + 1) * run.StepsPerEpoch(), BatchLoss: 2 / float64(epoch+1), BatchErr: 80 / float64(epoch+1), Seconds: 3}
		if run.Traced {
			point.Trace = &record.Trace{Objective: 1 / float64(epoch+1), Penalty: new(0.2 / float64(epoch+1)), TrainErr: 40 / float64(epoch+1), TestErr: r.TestErr}
		}
		r.Curve = append(r.Curve, point)
	}
	return r
}
