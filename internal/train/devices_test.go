package train_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/experiments"
	"ebsscgo/internal/train"
)

// Several devices take the steps of one, but for rounding, with dropout and augmentation. In float64, because networks this small are chaotic: in
// float32 runs that round differently in the first step come apart by more than a thousandth in 50 steps.
func TestDevicesTakeTheSameSteps(t *testing.T) {
	t.Parallel()
	set := madeSet(32, 3, 80, 10)
	run := plan(t, experiments.Table[4], set, 10,
		experiments.Overrides{Set: "preprocessing=raw;batch_size=8;class_spread=1;class_step=10;crop=4;flip=0.5;dropout=0.1"})
	layers := run.Network.Layers
	run.Network.Layers = slices.Concat(layers[1:3], layers[7:]) // of like blocks one, which compiles faster
	names, err := run.Network.Shapes()
	require.NoError(t, err)
	losses, variables := map[int][]float64{}, map[int]map[string][]float64{}
	for _, devices := range []int{1, 2} {
		runner, _ := newRunner(set, "")
		runner.Origin.Devices, variables[devices] = devices, map[string][]float64{}
		train.TakeSteps(t, runner, run, 50, func(loss, _ float64, variable func(string) []float64) {
			if losses[devices] = append(losses[devices], loss); len(losses[devices]) == 50 {
				for name := range names {
					variables[devices][name] = variable(name)
				}
			}
		})
	}
	require.Greater(t, floats.Max(losses[1])-floats.Min(losses[1]), 1e-3, "a loss that stays where it is would be equal for any steps")
	require.InEpsilonSlice(t, losses[1], losses[2], 1e-8)
	require.Zero(t, slices.Min(variables[1]["conv7/thresholds"]), "some were projected")
	for name := range names {
		require.InDeltaSlice(t, variables[1][name], variables[2][name], 1e-4, name)
	}
}

// A batch that devices cannot share is refused.
func TestDevicesShareBatches(t *testing.T) {
	run, set := small(t, 1)
	runner, _ := newRunner(set, "")
	runner.Origin.Devices = 3
	_, _, err := runner.Train(t.Context(), run)
	require.ErrorContains(t, err, "batch_size=20 cannot be shared by 3 devices")
}
