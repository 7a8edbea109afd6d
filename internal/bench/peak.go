package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"ebsscgo/internal/stats"
)

// Sides of the matrices: large enough that a device does nothing but multiply.
const (
	peakSizeCPU = 2048
	peakSizeGPU = 8192
)

const (
	// peakProducts is how many products follow one another in a call, so that a call's overhead hardly counts.
	peakProducts = 4
	// peakRounds is how many calls are timed, after one that compiles and one that warms up.
	peakRounds = 7
)

// Peak measures how fast a device multiplies large float32 matrices, in GFLOP/s: the median over a few calls. Precision is the
// backend's own, as in training: TF32 on GPUs that have it, unless the backend is configured otherwise.
func Peak(backend compute.Backend, gpu bool) (float64, error) {
	if gpu {
		return peakOf(backend, peakSizeGPU)
	}
	return peakOf(backend, peakSizeCPU)
}

// peakOf is Peak with matrices of that side.
func peakOf(backend compute.Backend, side int) (float64, error) {
	// The one number that comes back needs all products.
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
	// At this scale entries neither grow nor shrink from product to product. Zeros or ones would draw less power.
	rng, entry := rand.New(rand.NewPCG(1, 2)), 1/math.Sqrt(float64(side))
	values := make([]float32, side*side)
	for i := range values {
		values[i] = float32(rng.NormFloat64() * entry)
	}
	x := tensors.FromFlatDataAndDimensions(values, side, side)
	var seconds []float64
	for range 2 + peakRounds {
		began := time.Now()
		largest, err := exec.Call1(x)
		if err != nil {
			return 0, fmt.Errorf("multiplying matrices of %d×%d: %w", side, side, err)
		}
		if value := tensors.ToScalar[float32](largest); !(value > 0) {
			return 0, fmt.Errorf("multiplying matrices of %d×%d: the largest entry is %f", side, side, value)
		}
		seconds = append(seconds, time.Since(began).Seconds())
		if err := largest.FinalizeAll(); err != nil {
			return 0, err
		}
	}
	return peakProducts * 2 * math.Pow(float64(side), 3) / stats.Median(seconds[2:]) / 1e9, nil
}

// peak measures the plan's device in GFLOP/s, in a process of its own: its memory is free again when the programs start.
func (p Plan) peak(ctx context.Context) (gflops float64, err error) {
	text, err := output(ctx, slices.Concat(p.Self, []string{"peak"})...)
	if err != nil {
		return 0, fmt.Errorf("measuring the peak: %w", err)
	}
	if _, err := fmt.Sscan(text, &gflops); err != nil || !(gflops > 0) {
		return 0, fmt.Errorf("measuring the peak: %q is not in GFLOP/s", text)
	}
	return gflops, nil
}
