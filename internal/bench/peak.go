package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"time"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// The matrices' sides by which the peak is measured: large enough that a device is busy with multiplying alone.
const (
	peakSizeCPU = 2048
	peakSizeGPU = 8192
)

const (
	// peakProducts is how many products follow one another in a call, so that what a call takes of itself does not count.
	peakProducts = 4
	// peakRounds is how many calls are timed, after one that compiles and one that warms up.
	peakRounds = 7
)

// Peak measures how fast a device multiplies large float32 matrices, in FLOP/s: the median over a few calls. Precision is the
// backend's own, as in training: TF32 on GPUs that have it, unless the backend was told otherwise.
func Peak(backend compute.Backend, gpu bool) (float64, error) {
	if gpu {
		return peakOf(backend, peakSizeGPU)
	}
	return peakOf(backend, peakSizeCPU)
}

// peakOf measures it with matrices of that side.
func peakOf(backend compute.Backend, side int) (float64, error) {
	// One number comes back, for which all products are needed.
	exec, err := NewExec(backend, func(x *Node) *Node {
		product := x
		for range peakProducts {
			product = Dot(x, product).Product()
		}
		return ReduceAllMax(product)
	})
	if err != nil {
		return 0, err
	}
	defer exec.Finalize()
	// Entries of this size keep theirs in all products. Zeros or ones would draw less power than numbers do.
	rng, entry := rand.New(rand.NewPCG(1, 2)), 1/math.Sqrt(float64(side))
	values := make([]float32, side*side)
	for i := range values {
		values[i] = float32(rng.NormFloat64() * entry)
	}
	x := tensors.FromFlatDataAndDimensions(values, side, side)
	call := func() (seconds float64, err error) {
		began := time.Now()
		largest, err := exec.Call1(x)
		if err != nil {
			return 0, fmt.Errorf("multiplying matrices of %d×%d: %w", side, side, err)
		}
		if value := tensors.ToScalar[float32](largest); !(value > 0) {
			return 0, fmt.Errorf("multiplying matrices of %d×%d: the largest entry is %f", side, side, value)
		}
		return time.Since(began).Seconds(), largest.FinalizeAll()
	}
	var seconds []float64
	for range 2 + peakRounds {
		spent, err := call()
		if err != nil {
			return 0, err
		}
		seconds = append(seconds, spent)
	}
	return peakProducts * 2 * math.Pow(float64(side), 3) / median(seconds[2:]), nil
}

// peak is that of this plan's device in FLOP/s.
func (p Plan) peak(ctx context.Context) (float64, error) {
	command := slices.Concat(p.Self, []string{"peak"})
	text, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return 0, fmt.Errorf("measuring the peak failed: %s", lastLine(failed.Stderr))
	}
	if err != nil {
		return 0, fmt.Errorf("measuring the peak: %w", err)
	}
	var gflops float64
	if _, err := fmt.Sscan(string(text), &gflops); err != nil || !(gflops > 0) {
		return 0, fmt.Errorf("measuring the peak: %q is not in GFLOP/s", text)
	}
	return gflops * 1e9, nil
}
