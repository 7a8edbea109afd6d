// Package bench measures training steps and inference of the studies' networks in this program and in PyTorch and JAX
// on the same CPU, or in JAX on the same GPU.
//
// All programs compute the same: network, float32, batch, initial variables and hyperparameters; a training step is the
// forward pass with dropout, the loss, its gradients, Adam and the projection of thresholds, without augmentation. Before
// anything is timed, their class scores must agree. Each is a process of its own, this one too, with its fast operations
// and without. They are warmed up, and then take turns: one computes while the others wait, so that what disturbs the
// machine for a while disturbs all of them. What the first step takes longer than others is what compiling costs.
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

	"ebsscgo/experiments"
)

// Size is how large a network is measured.
type Size struct {
	// Batch is the number of images, Width that of the first block's filters.
	Batch, Width int
}

// tableSizes are those of networks on CIFAR-10: the paper's width in small batches, and a quarter of it in its batches.
var tableSizes = []Size{{32, experiments.PaperWidth}, {128, experiments.PaperWidth / 4}}

// usualSizes are the sizes at which an experiment is measured if nothing else is asked for. Networks on MNIST are small:
// they are measured as profile quick trains them.
func usualSizes(e experiments.Experiment) ([]Size, error) {
	study, _, ok := experiments.StudyOf(e.Name)
	if !ok || study.Images != experiments.MNIST {
		return tableSizes, nil
	}
	quick, err := experiments.FindProfile("quick")
	if err != nil {
		return nil, err
	}
	scale := quick.Scale(study)
	batch, _ := experiments.Recipe.With(scale.Settings, e.Settings)[experiments.ParamBatch].(int)
	return []Size{{batch, scale.Width}}, nil
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
	Experiments []experiments.Experiment
	// Sizes to measure them at; none are the usual ones of each experiment.
	Sizes []Size
	// Self is the command line of this program: with "peak" behind it, it prints what [Peak] measures, in GFLOP/s; with "serve"
	// and a folder, and then --plain where it shall do without its fast operations, it calls [Serve].
	Self []string
	// Peers are the other programs, of PeerNames.
	Peers []string
	// Rounds is how often each program has its turn.
	Rounds int
	// GPU says that Self computes on an NVIDIA GPU. JAX does so, too, then: that of the python3 on the PATH, as what fits a GPU's
	// driver is not this program's to install.
	GPU bool
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
		if p.GPU && !slices.Contains(GPUPeerNames, name) {
			return fmt.Errorf("peer %s is measured on the CPU alone: on a GPU choose from %s", name, strings.Join(GPUPeerNames, ", "))
		}
	}
	return nil
}

// Run carries out a plan. It prints the table to out and writes it to <results>/bench/steps.csv, or steps-gpu.csv, each case
// when it is done; lines of other cases stay there as they are. The peers on the CPU are installed if they are not.
func Run(ctx context.Context, plan Plan, results, commit string, out io.Writer) error {
	if err := plan.Validate(); err != nil {
		return err
	}
	python, name := "python3", "steps-gpu.csv"
	if !plan.GPU {
		name = "steps.csv"
	}
	if len(plan.Peers) > 0 && !plan.GPU {
		var err error
		if python, err = environment(ctx, out); err != nil {
			return err
		}
	}
	file := filepath.Join(results, "bench", name)
	// In a process of its own, which leaves the device and its memory to those that are measured.
	peak, err := plan.peak(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d cores, %.0f GFLOP/s in products of large matrices, %d rounds, results in %s\n",
		runtime.NumCPU(), peak/1e9, plan.Rounds, file)
	var all []Line
	for _, e := range plan.Experiments {
		sizes := plan.Sizes
		if len(sizes) == 0 {
			var err error
			if sizes, err = usualSizes(e); err != nil {
				return err
			}
		}
		for _, size := range sizes {
			fmt.Fprintf(out, "%s, batch %d, width %d …\n", e.Name, size.Batch, size.Width)
			c := newCase(e, size)
			lines, err := measureCase(ctx, plan, c, python)
			if err != nil {
				return fmt.Errorf("%s, batch %d, width %d: %w", e.Name, size.Batch, size.Width, err)
			}
			flop, err := c.Network.TrainingFLOP()
			if err != nil {
				return err
			}
			for i := range lines {
				lines[i].Row, lines[i].Size, lines[i].Commit = e.Name, size, commit
				if lines[i].What == training {
					lines[i].Speed = float64(flop*size.Batch) / lines[i].Median
					lines[i].Share = lines[i].Speed / peak
				}
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
	// turn takes steps of training or inference.
	turn(what string, steps int) (cost, error)
	// close ends the program.
	close() error
}

// cost is what a step takes: seconds, on average, and the program's peak resident memory meanwhile in MiB, 0 where the system
// does not tell.
type cost struct{ seconds, peak float64 }

// What is measured.
const (
	training  = "train"
	inference = "inference"
)

// tolerance of class scores, relative to the largest: GPUs round what they multiply to TF32's 11 bits.
func (p Plan) tolerance() float64 {
	if p.GPU {
		return 2e-2
	}
	return 1e-3
}

// measureCase starts all programs for a case, compares their class scores and measures them.
func measureCase(ctx context.Context, plan Plan, c testCase, python string) (lines []Line, err error) {
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

	if err := c.write(folder); err != nil {
		return nil, err
	}
	var want []float32
	for _, name := range slices.Concat([]string{fastProgram, plainProgram}, plan.Peers) {
		command, err := plan.command(name, python, folder)
		if err != nil {
			return nil, err
		}
		p, scores, err := startPeer(ctx, name, command, folder)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
		if want == nil {
			want = scores
		}
		if err := agree(name, scores, want, plan.tolerance()); err != nil {
			return nil, err
		}
	}
	// Inference comes first: what training keeps in memory would count for it.
	for _, what := range []string{inference, training} {
		measured, err := takeTurns(ctx, programs, what, plan.Rounds)
		if err != nil {
			return nil, err
		}
		lines = append(linesOf(programs, measured, what), lines...)
	}
	return lines, nil
}

// command is the command line of a program for the case in folder.
func (p Plan) command(name, python, folder string) ([]string, error) {
	switch name {
	case fastProgram:
		return slices.Concat(p.Self, []string{"serve", folder}), nil
	case plainProgram:
		return slices.Concat(p.Self, []string{"serve", folder, "--plain"}), nil
	default:
		platform := "cpu"
		if p.GPU {
			platform = "cuda"
		}
		return peerCommand(python, name, folder, platform)
	}
}

// linesOf are the measurements of all programs.
func linesOf(programs []program, measured []measurement, what string) (lines []Line) {
	for i, p := range programs {
		m := measured[i]
		line := Line{What: what, Min: slices.Min(m.seconds), Median: median(m.seconds), Rounds: len(m.seconds), Peak: m.peak}
		line.Program, line.Version = p.label()
		if what == training { // inference was compiled when the scores were compared
			line.First = m.first
		}
		if torch := slices.IndexFunc(programs, isTorch); torch >= 0 {
			line.Ratio = ratioOf(m.seconds, measured[torch].seconds)
		}
		lines = append(lines, line)
	}
	return lines
}

// isTorch says whether a program is what the others are compared with.
func isTorch(p program) bool {
	name, _ := p.label()
	return name == torchPeer
}

const (
	// warmUp is how many steps a program takes after its first one before it is timed again.
	warmUp = 1
	// stepsPerTurn is how many steps of a turn are timed, after one that is not: the caches are the others' then.
	stepsPerTurn = 3
)

// measurement is what the steps of a program cost.
type measurement struct {
	// first is the seconds of its first step, which compiles; seconds are those of a step in each round.
	first   float64
	seconds []float64
	// peak resident memory in MiB, of the rounds.
	peak float64
}

// takeTurns measures the programs in interleaved rounds. Each round begins with another program.
func takeTurns(ctx context.Context, programs []program, what string, rounds int) ([]measurement, error) {
	turn := func(p program, steps int) (cost, error) {
		if ctx.Err() != nil {
			return cost{}, context.Cause(ctx)
		}
		spent, err := p.turn(what, steps)
		if err != nil && ctx.Err() != nil { // a signal ends the programs, too
			return cost{}, context.Cause(ctx)
		}
		return spent, err
	}
	measured := make([]measurement, len(programs))
	for i, p := range programs {
		first, err := turn(p, 1)
		if err != nil {
			return nil, err
		}
		measured[i].first = first.seconds
		if _, err := turn(p, warmUp); err != nil {
			return nil, err
		}
	}
	for round := range rounds {
		for i := range programs {
			next := (round + i) % len(programs)
			if _, err := turn(programs[next], 1); err != nil {
				return nil, err
			}
			spent, err := turn(programs[next], stepsPerTurn)
			if err != nil {
				return nil, err
			}
			m := &measured[next]
			m.seconds, m.peak = append(m.seconds, spent.seconds), max(m.peak, spent.peak)
		}
	}
	return measured, nil
}
