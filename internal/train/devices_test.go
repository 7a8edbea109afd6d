package train_test

import (
	"context"
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
	"ebsscgo/internal/train"
)

// onOne is what most tests compute on. XLA's CPU plugin makes four devices, if nothing is said of their number.
var onOne = experiments.Machine{Backend: "xla-cpu"}

// divided is a run of 100 steps, with dropout and augmentation, that several devices can share, and its lab.
func divided(t testing.TB, row experiments.Experiment, width, batch int) (experiments.Run, *train.Lab) {
	network := row.Network(width)
	set := madeImages(network.Height, network.Channels, 10*batch, 10)
	runs, err := experiments.Plan(row, "test", experiments.Scale{Width: width, Epochs: 10, Seeds: 1}, describe(set), onOne, experiments.Settings{
		experiments.ParamBatch: batch, experiments.ParamWhiten: false, ebssc.ParamPlainOps: true,
		ebssc.ParamClassSpread: 1.0, ebssc.ParamClassStep: 10.0, // some class thresholds are projected to 0 within 100 steps
		ebssc.ParamDropout: 0.1, experiments.ParamCrop: 4, experiments.ParamFlip: 0.5,
	}, 0)
	require.NoError(t, err)
	return runs[0], &train.Lab{Backend: xla, Set: set, Log: io.Discard}
}

// Several devices take the steps of one, but for rounding: of every row of the table, and of an unrolled network. In float64,
// because networks this small are chaotic: in float32 runs that round differently in the first step come apart by more than a
// thousandth in 100 steps, on one device too, where they differ in plain_ops alone.
func TestDevicesTakeTheSameSteps(t *testing.T) {
	for _, row := range append(slices.Clone(experiments.Table), experiments.Unroll[1]) {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			run, lab := divided(t, row, 4, 8)
			if blocks := run.Network.Layers; len(blocks) == 9 {
				run.Network.Layers = slices.Concat(blocks[1:3], blocks[7:]) // of like blocks one, which compiles faster
			}
			want, _, variables := train.TakeSteps[float64](t, lab, run, 100)
			require.Greater(t, floats.Max(want)-floats.Min(want), 1e-3, "a loss that stays where it is would be equal for any steps")
			devices := []int{2}
			if row.Name == "ssc-ebc67" {
				devices = []int{2, 4}
			}
			for _, count := range devices {
				run.Devices = count
				got, _, shared := train.TakeSteps[float64](t, lab, run, 100)
				require.InEpsilonSlice(t, want, got, 1e-8, "%d devices", count)
				requireThresholds(t, variables, shared)
			}
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
//	go test ./experiments/training -run '^$' -bench Devices -benchtime 1x
func BenchmarkDevices(b *testing.B) {
	for _, row := range append(slices.Clone(experiments.Table), experiments.Unroll[1]) {
		var want []float64
		for _, c := range []struct {
			operations string
			plain      bool
			devices    int
		}{{"fast", false, 0}, {"plain", true, 0}, {"plain", true, 2}, {"plain", true, 4}} {
			b.Run(fmt.Sprintf("%s/%s/%d", row.Name, c.operations, max(1, c.devices)), func(b *testing.B) {
				run, lab := divided(b, row, 8, 32)
				run.Settings[ebssc.ParamPlainOps], run.Devices = c.plain, c.devices
				for b.Loop() {
					_, seconds, _ := train.TakeSteps[float32](b, lab, run, 100)
					b.ReportMetric(1e3*median(seconds), "ms/step")
					losses, _, _ := train.TakeSteps[float64](b, lab, run, 100)
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
	run := small(t, row, set, 2)
	run.Devices = 2
	lab := &train.Lab{Backend: xla, Set: set, Log: io.Discard}
	whole, stopped := t.TempDir(), t.TempDir()
	want, err := lab.Train(context.Background(), run, whole)
	require.NoError(t, err)
	require.Less(t, want.TestErr, 85.0)

	_, err = lab.Train(&looks{context.Background(), 1 + 2}, run, stopped)
	require.ErrorIs(t, err, context.Canceled)
	saved := checkpoints(t, stopped, run)
	require.Contains(t, saved[len(saved)-1], "step-00000003", "in the middle of an epoch")
	got, err := lab.Train(context.Background(), run, stopped)
	require.NoError(t, err)
	require.True(t, want.Same(got))
	require.Equal(t, variables(t, run, whole), variables(t, run, stopped))
}
