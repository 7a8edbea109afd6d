// Package bench measures training steps and inference of the studies' networks in this program, PyTorch and JAX on the same
// CPU, or in this program and JAX on the same GPU. It records every round in Go's benchmark format, which benchstat reads.
//
// All programs compute the same: network, batch, initial variables and hyperparameters, in float32 (torch-bf16: with bfloat16
// autocast). A training step is the forward pass with dropout, the loss, its gradients, Adam and the projection of thresholds,
// without augmentation. Before anything is timed, their class scores must agree. Each program is a process; this one is
// measured with its fast operations and without. They warm up and then take turns: one computes while the others wait, so
// a disturbance of the machine meets all of them. What the first step takes longer than later ones is the cost of compiling.
package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

// Plan is what to measure.
type Plan struct {
	Experiments []experiments.Experiment
	// Sizes to measure them at; if empty, the usual ones of each experiment.
	Sizes []Size
	// Self is the command line of this program. Followed by "peak" it prints what [Peak] measures, in GFLOP/s; followed by "serve",
	// a folder and perhaps --plain (no fast operations) it calls [Serve].
	Self []string
	// Peers are the other programs, of [PeerNames].
	Peers []string
	// Rounds is how many turns each program has.
	Rounds int
	// Backend is what Self computes on, as records name it: xla-cpu.
	Backend string
	// GPU is true if Self computes on an NVIDIA GPU. JAX then does, too: that of the python3 on the PATH, because a JAX that fits a
	// GPU's driver is not this program's to install.
	GPU bool
	// Commit is the source that Self was built from.
	Commit string
}

// Validate returns an error for what cannot be measured, before anything is installed or started.
func (p Plan) Validate() error {
	if p.Rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed", p.Rounds)
	}
	device, known := "CPU", PeerNames
	if p.GPU {
		device, known = "GPU", GPUPeers
	}
	for _, name := range p.Peers {
		if !slices.Contains(known, name) {
			return fmt.Errorf("peer %q cannot be measured on a %s: choose from %s", name, device, strings.Join(known, ", "))
		}
	}
	return nil
}

// Run executes a plan. After each case it appends the measurements to <results>/bench/steps.txt; at the end it prints a table of
// medians to out. Peers on the CPU are installed if they are missing.
func Run(ctx context.Context, plan Plan, results string, out io.Writer) error {
	if err := plan.Validate(); err != nil {
		return err
	}
	python := "python3"
	if len(plan.Peers) > 0 && !plan.GPU {
		var err error
		if python, err = environment(ctx, out); err != nil {
			return err
		}
	}
	peak, err := plan.peak(ctx)
	if err != nil {
		return err
	}
	record, err := openRecord(filepath.Join(results, "bench", "steps.txt"), plan, peak)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d cores, %.0f GFLOP/s in products of large matrices, %d rounds, results in %s\n",
		runtime.NumCPU(), peak, plan.Rounds, record.file)
	var all []result
	for _, e := range plan.Experiments {
		sizes := plan.Sizes
		if len(sizes) == 0 {
			sizes = usualSizes(e)
		}
		for _, size := range sizes {
			fmt.Fprintf(out, "%s, %s …\n", e.Name, size)
			measured, err := plan.measure(ctx, newCase(e, size), python, peak)
			if err == nil {
				err = record.add(measured)
			}
			if err != nil {
				return fmt.Errorf("%s, %s: %w", e.Name, size, err)
			}
			all = append(all, measured...)
		}
	}
	return printMedians(out, all)
}

// own are this program's variants: on a GPU training has plain operations alone.
func (p Plan) own() []string {
	if p.GPU {
		return []string{plainProgram}
	}
	return []string{fastProgram, plainProgram}
}

// measure starts all programs for a case, checks that their class scores agree, and lets them take turns.
func (p Plan) measure(ctx context.Context, c testCase, python string, peak float64) (results []result, err error) {
	folder, err := os.MkdirTemp("", "ebssc-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := c.write(folder); err != nil {
		return nil, err
	}
	var programs []*peer
	defer func() {
		for _, program := range programs {
			if closeErr := program.close(); err == nil {
				err = closeErr
			}
		}
	}()
	for _, name := range slices.Concat(p.own(), p.Peers) {
		command, err := p.command(name, python, folder)
		if err != nil {
			return nil, err
		}
		program, err := startPeer(ctx, name, command, folder)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
		if err := agree(name, program.scores, programs[0].scores, p.tolerance(name, c.Network)); err != nil {
			return nil, err
		}
	}
	// Inference comes first: memory that training keeps would count for it.
	for _, what := range []string{inference, training} {
		measured, err := takeTurns(ctx, programs, what, p.Rounds)
		if err != nil {
			return nil, err
		}
		for i, program := range programs {
			r, err := newResult(c, what, program, measured[i], peak)
			if err != nil {
				return nil, err
			}
			results = slices.Insert(results, i, r) // training before inference
		}
	}
	return results, nil
}

// tolerance of a program's class scores, relative to the largest. bfloat16 has 8 bits, and scores of class-specific codes are differences of
// energies that start nearly equal: of SSC+EBC₆₋₇ they are off by up to 27 %. GPUs round factors to TF32's 11 bits: emulated, scores of linear
// classifiers are off by 0.1 %, those of SSC+EBC₆₋₇ by 2 %.
func (p Plan) tolerance(program string, network ebssc.Network) float64 {
	switch {
	case program == torchBF16Peer && network.Classifier != ebssc.Linear:
		return 0.5
	case program == torchBF16Peer:
		return 5e-2
	case p.GPU && network.Classifier != ebssc.Linear:
		return 5e-2
	case p.GPU:
		return 2e-2
	}
	return 1e-3
}

// What is measured.
const (
	training  = "train"
	inference = "inference"
)

// program takes turns with others.
type program interface {
	// turn takes steps of training or inference and returns what one costs on average.
	turn(what string, steps int) (cost, error)
}

// cost of a step: seconds, and the program's peak resident memory in MiB (0 if the system does not report it).
type cost struct{ seconds, peakMiB float64 }

// measurement is what a program's steps cost.
type measurement struct {
	first  float64 // seconds of the first step, which compiles
	rounds []cost
}

const (
	// warmUp is how many steps a program takes after its first one before it is timed again.
	warmUp = 1
	// stepsPerTurn is how many steps of a turn are timed. An untimed one comes before: the caches still hold the others' data.
	stepsPerTurn = 3
)

// takeTurns measures the programs in interleaved rounds. Each round begins with another program.
func takeTurns[P program](ctx context.Context, programs []P, what string, rounds int) ([]measurement, error) {
	turn := func(i, steps int) (cost, error) {
		if ctx.Err() != nil {
			return cost{}, context.Cause(ctx)
		}
		spent, err := programs[i].turn(what, steps)
		if err != nil && ctx.Err() != nil { // a signal ends the programs, too
			return cost{}, context.Cause(ctx)
		}
		return spent, err
	}
	measured := make([]measurement, len(programs))
	for i := range programs {
		first, err := turn(i, 1)
		if err != nil {
			return nil, err
		}
		measured[i].first = first.seconds
		if _, err := turn(i, warmUp); err != nil {
			return nil, err
		}
	}
	for round := range rounds {
		for i := range programs {
			next := (round + i) % len(programs)
			if _, err := turn(next, 1); err != nil {
				return nil, err
			}
			spent, err := turn(next, stepsPerTurn)
			if err != nil {
				return nil, err
			}
			measured[next].rounds = append(measured[next].rounds, spent)
		}
	}
	return measured, nil
}
