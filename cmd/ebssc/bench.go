package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/bench"
	"ebsscgo/internal/device"
)

// benchFlags are what `bench` can be told.
type benchFlags struct {
	only, peers, sizes []string
	rounds             int
	results, backend   string
	usualPeers         bool // no others were asked for
}

func benchCommand(stdout io.Writer) *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure training steps and inference against PyTorch and JAX on this CPU, or JAX on this GPU",
		Long: "Measure training steps and inference of the networks of the table and of the unroll study in this program, with\n" +
			"its fast operations (ebssc) and without (ebssc-plain), and in PyTorch and JAX, on all cores of this CPU; write\n" +
			"<results>/bench/steps.csv.\n\n" +
			"The first time, PyTorch and JAX are installed in a virtual environment in the cache folder (several GB). All\n" +
			"programs compute the same from the same initial variables, which is checked. Each is a process; they take turns,\n" +
			"compiled and warmed up: minimum and median over the rounds, and the ratio of the medians to PyTorch's with the\n" +
			"smallest and the largest ratio of a round. FIRST is the first training step, with compiling, and MEMORY the process's\n" +
			"peak resident memory in later steps. GFLOP/s count convolutions as they are defined, and × PEAK is their share of what\n" +
			"products of large matrices reach; it may be above 1, as fast operations need fewer multiplications. Nothing else should\n" +
			"run on the machine meanwhile.\n\n" +
			"With --backend cuda this program and the JAX of the python3 on the PATH compute on the GPU, and the file is\n" +
			"<results>/bench/steps-gpu.csv. PyTorch is measured on the CPU alone.",
		Args:    cobra.NoArgs,
		Example: "  ebssc bench\n  ebssc bench --only crelu-lc7 --sizes 32x96 --peers torch --rounds 15\n  ebssc bench --only unroll-0,unroll-1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.usualPeers = !cmd.Flags().Changed("peers")
			return runBench(cmd.Context(), stdout, flags)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.only, "only", nil, "names of the experiments to measure, of any study (default: those of table and unroll)")
	f.StringSliceVar(&flags.peers, "peers", bench.PeerNames, "programs to measure against (on a GPU: jax alone)")
	f.StringSliceVar(&flags.sizes, "sizes", nil, "sizes, each as batch x width (default: 32x96 and 128x24 on CIFAR-10, those of profile quick on MNIST)")
	f.IntVar(&flags.rounds, "rounds", 7, "how often each program has its turn")
	f.StringVar(&flags.results, "results", "results", "folder for the results")
	cmd.PersistentFlags().StringVar(&flags.backend, "backend", "cpu", "cpu, cuda or a GoMLX configuration of them, as xla:cuda,tf32=false")
	cmd.AddCommand(serveCommand(stdout, &flags.backend), peakCommand(stdout, &flags.backend))
	return cmd
}

// serveCommand is this program as one of those that are measured.
func serveCommand(stdout io.Writer, spec *string) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use:    "serve FOLDER",
		Short:  "Be measured: what bench starts",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			opened, _, err := device.Open(cmd.Context(), *spec, 1)
			if err != nil {
				return err
			}
			defer opened.Finalize()
			return bench.Serve(opened, args[0], plain, cmd.InOrStdin(), stdout)
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "without fast operations")
	return cmd
}

// peakCommand measures what others' speed is a share of.
func peakCommand(stdout io.Writer, spec *string) *cobra.Command {
	return &cobra.Command{
		Use:   "peak",
		Short: "Measure how fast this CPU or GPU multiplies large matrices, in GFLOP/s",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opened, choice, err := device.Open(cmd.Context(), *spec, 1)
			if err != nil {
				return err
			}
			defer opened.Finalize()
			flops, err := bench.Peak(opened, choice.CUDA())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(stdout, "%.1f GFLOP/s\n", flops/1e9)
			return err
		},
	}
}

// runBench measures what the flags ask for.
func runBench(ctx context.Context, stdout io.Writer, flags benchFlags) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	plan := bench.Plan{Self: []string{program, "bench", "--backend", flags.backend}, Peers: flags.peers, Rounds: flags.rounds}
	if plan.Experiments, err = benched(flags.only); err != nil {
		return err
	}
	for _, text := range flags.sizes {
		size, err := bench.ParseSize(text)
		if err != nil {
			return err
		}
		plan.Sizes = append(plan.Sizes, size)
	}
	// What may have to be downloaded is, before anything is measured.
	choice, err := device.Resolve(ctx, flags.backend)
	if err != nil {
		return err
	}
	if plan.GPU = choice.CUDA(); plan.GPU && flags.usualPeers {
		plan.Peers = bench.GPUPeerNames
	}
	return bench.Run(ctx, plan, flags.results, commit(), stdout)
}

// benched are the experiments of those names, or those of the table and the unroll study.
func benched(names []string) ([]experiments.Experiment, error) {
	if len(names) == 0 {
		return slices.Concat(experiments.Table, experiments.Unroll), nil
	}
	return experiments.Find(experiments.All(experiments.Studies), names)
}
