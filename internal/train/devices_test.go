package train_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/stats"
	"ebsscgo/internal/train"
)

// onOne is what most tests compute on. XLA's CPU plugin makes four devices, if nothing is said of their number.
var onOne = experiments.Machine{Backend: "xla-cpu", Devices: 1}

// divided is a run of 100 steps, with dropout and augmentation, that several devices can share, and its runner.
func divided(t testing.TB, row experiments.Experiment, width, batch int) (experiments.Run, *train.Runner) {
	network := row.Network(width)
	set := madeImages(network.Height, network.Channels, 10*batch, 10)
	runs, err := experiments.Plan(row, "test", experiments.Scale{Width: width, Epochs: 10, Seeds: 1}, describe(set), onOne, experiments.Overrides{Settings: experiments.Settings{
		experiments.ParamBatch: batch, experiments.ParamWhiten: false, ebssc.ParamPlainOps: true,
		ebssc.ParamClassSpread: 1.0, ebssc.ParamClassStep: 10.0, // some class thresholds are projected to 0 within 100 steps
		ebssc.ParamDropout: 0.1, experiments.ParamCrop: 4, experiments.ParamFlip: 0.5,
	}})
	require.NoError(t, err)
	return runs[0], &train.Runner{Backend: xla, Set: set, Log: io.Discard}
}

// allRows compares all rows of the table, which takes minutes; else a normalised and a class-specific one stand for them.
var allRows = flag.Bool("all-rows", false, "compare devices on all rows of the table")

// Several devices take the steps of one, but for rounding. In float64,
// because networks this small are chaotic: in float32 runs that round differently in the first step come apart by more than a
// thousandth in 100 steps, on one device too, where they differ in plain_ops alone.
func TestDevicesTakeTheSameSteps(t *testing.T) {
	rows := []experiments.Experiment{experiments.Table[4], experiments.Unroll[1]}
	if *allRows {
		rows = append(slices.Clone(experiments.Table), experiments.Unroll[1])
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			run, runner := divided(t, row, 4, 8)
			if blocks := run.Network.Layers; len(blocks) == 9 {
				run.Network.Layers = slices.Concat(blocks[1:3], blocks[7:]) // of like blocks one, which compiles faster
			}
			want, _, variables := train.TakeSteps[float64](t, runner, run, 100)
			require.Greater(t, floats.Max(want)-floats.Min(want), 1e-3, "a loss that stays where it is would be equal for any steps")
			run.Machine.Devices = 2
			if row.Name == "ssc-ebc67" {
				run.Machine.Devices = 4
			}
			got, _, shared := train.TakeSteps[float64](t, runner, run, 100)
			require.InEpsilonSlice(t, want, got, 1e-8)
			requireThresholds(t, variables, shared)
		})
	}
}

// requireThresholds compares thresholds, those of other variables being equal as far as the loss is. Some class thresholds were
// projected to 0.
func requireThresholds(t *testing.T, want, got map[string][]float64) {
	for name := range want {
		if !strings.HasSuffix(name, "thresholds") {
			continue
		}
		require.GreaterOrEqual(t, slices.Min(got[name]), 0.0, name)
		if len(want[name]) > 1 {
			require.Zero(t, slices.Min(got[name]), "nothing of %s was projected", name)
		}
		require.InDeltaSlice(t, want[name], got[name], 1e-4, name)
	}
}

// BenchmarkDevices takes 100 steps of whole rows on one device and on several that share the cores of this machine: the time of
// a step, and how far any loss is from that of one device with the same operations, in float64.
//
//	go test ./internal/train -run '^$' -bench Devices -benchtime 1x
func BenchmarkDevices(b *testing.B) {
	for _, row := range append(slices.Clone(experiments.Table), experiments.Unroll[1]) {
		var want []float64
		for _, c := range []struct {
			operations string
			plain      bool
			devices    int
		}{{"fast", false, 0}, {"plain", true, 0}, {"plain", true, 2}, {"plain", true, 4}} {
			b.Run(fmt.Sprintf("%s/%s/%d", row.Name, c.operations, max(1, c.devices)), func(b *testing.B) {
				run, runner := divided(b, row, 8, 32)
				run.Settings[ebssc.ParamPlainOps], run.Machine.Devices = c.plain, c.devices
				for b.Loop() {
					_, seconds, _ := train.TakeSteps[float32](b, runner, run, 100)
					b.ReportMetric(1e3*stats.Median(seconds), "ms/step")
					losses, _, _ := train.TakeSteps[float64](b, runner, run, 100)
					if c.devices == 0 {
						want = losses
						continue
					}
					worst := 0.0
					for i, loss := range losses {
						worst = max(worst, math.Abs(loss/want[i]-1))
					}
					b.ReportMetric(worst, "worst-loss")
				}
			})
		}
	}
}

// A run on two devices that is stopped goes on with the same bits as one that was not, and is measured.
func TestDevicesResumeBitForBit(t *testing.T) {
	set := madeSet(100, 50)
	row := experiments.Table[4]
	row.Traced = true
	run := withMuon(small(t, row, set, 2), row)
	run.Machine.Devices = 2
	runner := &train.Runner{Backend: xla, Set: set, Log: io.Discard}
	whole, stopped := t.TempDir(), t.TempDir()
	want, err := runner.Train(context.Background(), run, whole, nil)
	require.NoError(t, err)
	require.Less(t, want.TestErr, 85.0)

	_, err = runner.Train(&looks{context.Background(), beforeSteps + 2}, run, stopped, nil)
	require.ErrorIs(t, err, context.Canceled)
	step, err := train.Restore(run, stopped, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 3, step, "in the middle of an epoch")
	got, err := runner.Train(context.Background(), run, stopped, nil)
	require.NoError(t, err)
	require.Equal(t, want.Predictions, got.Predictions)
	require.Equal(t, want.TrainObjective, got.TrainObjective)
	require.Equal(t, train.Variables(t, train.NetworkFile(whole, run.ID())), train.Variables(t, train.NetworkFile(stopped, run.ID())))
}
