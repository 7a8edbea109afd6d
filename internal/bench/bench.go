// Package bench measures training steps and inference of the table's networks in this program and in PyTorch and JAX
// on the same CPU.
//
// All programs compute the same: network, float32, batch, initial variables and hyperparameters; a training step is the
// forward pass with dropout, the loss, its gradients, Adam and the projection of thresholds, without augmentation. Before
// anything is timed, their class scores must agree. They are started, compiled and warmed up untimed, and then take turns:
// one computes while the others wait, so that what disturbs the machine for a while disturbs all of them.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/support/exceptions"

	"ebsscgo/experiments"
)

// Size is how large a network is measured.
type Size struct {
	// Batch is the number of images, Width that of the first two blocks' filters.
	Batch, Width int
}

// ParseSize reads a size such as "32x96": batch 32, width 96.
func ParseSize(text string) (Size, error) {
	batch, width, _ := strings.Cut(text, "x")
	var size Size
	var errBatch, errWidth error
	size.Batch, errBatch = strconv.Atoi(batch)
	size.Width, errWidth = strconv.Atoi(width)
	if errors.Join(errBatch, errWidth) != nil || size.Batch < 1 || size.Width < 1 {
		return Size{}, fmt.Errorf("size %q: want the batch and the width, as 32x96", text)
	}
	return size, nil
}

// Plan is what to measure.
type Plan struct {
	Rows  []experiments.Experiment
	Sizes []Size
	// Peers are the other programs, of PeerNames.
	Peers []string
	// Rounds is how often each program has its turn.
	Rounds int
}

// Validate says what cannot be measured, before anything is installed or started.
func (p Plan) Validate() error {
	if p.Rounds < 1 {
		return fmt.Errorf("%d rounds: at least 1 is needed", p.Rounds)
	}
	for _, name := range p.Peers {
		if !slices.Contains(PeerNames, name) {
			return fmt.Errorf("unknown peer %q: choose from %s", name, strings.Join(PeerNames, ", "))
		}
	}
	return nil
}

// Run carries out a plan. It prints the table to out and writes it to <results>/bench/steps.csv, each case when it is
// done; lines of other cases stay there as they are. The peers are installed if they are not.
func Run(ctx context.Context, backend compute.Backend, plan Plan, results, commit string, out io.Writer) error {
	if err := plan.Validate(); err != nil {
		return err
	}
	var python string
	if len(plan.Peers) > 0 {
		var err error
		if python, err = environment(ctx, out); err != nil {
			return err
		}
	}
	file := filepath.Join(results, "bench", "steps.csv")
	fmt.Fprintf(out, "%d cores, %d rounds, results in %s\n", runtime.NumCPU(), plan.Rounds, file)
	var all []Line
	for _, row := range plan.Rows {
		for _, size := range plan.Sizes {
			fmt.Fprintf(out, "%s, batch %d, width %d …\n", row.Name, size.Batch, size.Width)
			var lines []Line
			var err error
			// Graph building panics; here is the one place where that becomes an error.
			panicked := exceptions.TryCatch[error](func() { lines, err = measureCase(ctx, backend, plan, row, size, python) })
			if err = errors.Join(panicked, err); err != nil {
				return fmt.Errorf("%s, batch %d, width %d: %w", row.Name, size.Batch, size.Width, err)
			}
			for i := range lines {
				lines[i].Row, lines[i].Size, lines[i].Commit = row.Name, size, commit
			}
			if err := Update(file, lines); err != nil {
				return err
			}
			all = append(all, lines...)
		}
	}
	return Print(out, all)
}

// program is what takes turns.
type program interface {
	// label is the program's name and version.
	label() (name, version string)
	// turn takes steps of training or inference and returns the seconds of one.
	turn(what string, steps int) (float64, error)
	// close ends the program and frees what it holds.
	close() error
}

// What is measured.
const (
	training  = "train"
	inference = "inference"
)

// tolerance of class scores, relative to the largest.
const tolerance = 1e-3

// measureCase starts all programs for a row at a size, compares their class scores and measures them.
func measureCase(ctx context.Context, backend compute.Backend, plan Plan, row experiments.Experiment, size Size, python string) (lines []Line, err error) {
	folder, err := os.MkdirTemp("", "ebssc-bench-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	var programs []program
	defer func() {
		for _, p := range programs {
			err = errors.Join(err, p.close())
		}
	}()

	c := newCase(row, size)
	var want []float32
	for _, plain := range []bool{false, true} {
		own, err := newOwn(backend, c, plain)
		if err != nil {
			return nil, err
		}
		programs = append(programs, own)
		scores, err := own.scores()
		if err != nil {
			return nil, err
		}
		if want == nil {
			want = scores
			if err := c.write(folder, own.c.network.Variables(own.store)); err != nil {
				return nil, err
			}
		} else if err := agree(own.name, scores, want); err != nil {
			return nil, err
		}
	}
	for _, name := range plan.Peers {
		peer, scores, err := startPeer(ctx, name, python, folder)
		if err != nil {
			return nil, err
		}
		programs = append(programs, peer)
		if err := agree(name, scores, want); err != nil {
			return nil, err
		}
	}
	for _, what := range []string{training, inference} {
		times, err := takeTurns(ctx, programs, what, plan.Rounds)
		if err != nil {
			return nil, err
		}
		for i, p := range programs {
			line := Line{What: what, Min: slices.Min(times[i]), Median: median(times[i]), Rounds: plan.Rounds}
			line.Program, line.Version = p.label()
			if torch := slices.IndexFunc(programs, isTorch); torch >= 0 {
				line.Ratio = ratioOf(times[i], times[torch])
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// isTorch says whether a program is what the others are compared with.
func isTorch(p program) bool {
	name, _ := p.label()
	return name == torchPeer
}

const (
	// warmUp is how many steps a program takes before it is timed at all: the first compiles.
	warmUp = 2
	// stepsPerTurn is how many steps of a turn are timed, after one that is not: the caches are the others' then.
	stepsPerTurn = 3
)

// takeTurns measures the programs in interleaved rounds: seconds of a step for each program and round. Each round begins
// with another program.
func takeTurns(ctx context.Context, programs []program, what string, rounds int) ([][]float64, error) {
	turn := func(p program, steps int) (float64, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		seconds, err := p.turn(what, steps)
		if err != nil && ctx.Err() != nil { // a signal ends the peers, too
			return 0, context.Cause(ctx)
		}
		return seconds, err
	}
	for _, p := range programs {
		if _, err := turn(p, warmUp); err != nil {
			return nil, err
		}
	}
	times := make([][]float64, len(programs))
	for round := range rounds {
		for i := range programs {
			next := (round + i) % len(programs)
			if _, err := turn(programs[next], 1); err != nil {
				return nil, err
			}
			seconds, err := turn(programs[next], stepsPerTurn)
			if err != nil {
				return nil, err
			}
			times[next] = append(times[next], seconds)
		}
	}
	return times, nil
}
