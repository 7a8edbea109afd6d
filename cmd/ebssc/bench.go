package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/bench"
	"ebsscgo/internal/device"
	"ebsscgo/internal/study"
)

func benchCommand(stdout io.Writer) *cobra.Command {
	var plan bench.Plan
	var only, sizes []string
	var results, spec string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure training steps and inference beside PyTorch and JAX on this CPU, or beside JAX on this GPU",
		Long: "Measure training steps and inference of the networks of the table and of the unroll study in this program, with\n" +
			"its fast operations (ebssc) and without (ebssc-plain), and in PyTorch and JAX, on all cores of this CPU. Every round is\n" +
			"a line of <results>/bench/steps.txt, in Go's benchmark format: compare programs with `benchstat -col /program`.\n\n" +
			"The first time, PyTorch and JAX are installed in a virtual environment in the cache folder (several GB). All\n" +
			"programs compute the same from the same initial variables, which is checked. Each is a process; they take turns,\n" +
			"compiled and warmed up. The table shows medians over the rounds, and the ratio of the median time to PyTorch's with the\n" +
			"smallest and the largest ratio of a round. sec/first-step is the first training step, with compiling, and MiB the\n" +
			"process's peak resident memory in later steps. GFLOP/s count convolutions by their definition, and peak-share is their\n" +
			"ratio to products of large matrices; it may be above 1, as fast operations need fewer multiplications. Leave the\n" +
			"machine idle otherwise.\n\n" +
			"Peer torch-bf16 is PyTorch with bfloat16 autocast, for CPUs with instructions for it (avx512_bf16, amx_bf16).\n\n" +
			"With --backend cuda this program and the JAX of the python3 on the PATH compute on the GPU. PyTorch is measured on\n" +
			"the CPU only.",
		Args: cobra.NoArgs,
		Example: "  ebssc bench\n  ebssc bench --only crelu-lc7 --sizes 32x96 --peers torch,torch-bf16 --rounds 15\n" +
			"  ebssc bench --only unroll-0,unroll-1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := choose(&plan, only, sizes); err != nil {
				return err
			}
			if err := plan.Validate(); err != nil {
				return err
			}
			// Resolving may download a plugin: do it before anything is measured.
			choice, err := device.Resolve(cmd.Context(), spec)
			if err != nil {
				return err
			}
			if choice.Warning != "" {
				fmt.Fprintln(stdout, "warning: "+choice.Warning)
			}
			if plan.GPU = choice.CUDA(); plan.GPU && !cmd.Flags().Changed("peers") {
				plan.Peers = bench.GPUPeers
			}
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("finding this program: %w", err)
			}
			plan.Self, plan.Backend = []string{program, "bench", "--backend", choice.Config}, choice.Name
			plan.Commit = study.Commit()
			return bench.Run(cmd.Context(), plan, results, stdout)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&only, "only", nil, "names of the experiments to measure, of any study (default: those of table and unroll)")
	f.StringSliceVar(&plan.Peers, "peers", bench.CPUPeers, "programs to measure beside: "+strings.Join(bench.PeerNames, ", ")+" (on a GPU: jax only)")
	f.StringSliceVar(&sizes, "sizes", nil, "sizes, each as batch x width (default: 32x96 and 128x24 on CIFAR-10, those of profile quick on MNIST)")
	f.IntVar(&plan.Rounds, "rounds", 7, "turns of each program")
	f.StringVar(&results, "results", "results", "folder for the results")
	cmd.PersistentFlags().StringVar(&spec, "backend", "cpu", "cpu, cuda or a GoMLX configuration of them, as xla:cuda,tf32=false")
	cmd.AddCommand(serveCommand(stdout, &spec), peakCommand(stdout, &spec))
	return cmd
}

// serveCommand makes this process one of the measured programs.
func serveCommand(stdout io.Writer, spec *string) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use:    "serve FOLDER",
		Short:  "Take turns as a measured program (started by bench)",
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

// peakCommand measures the speed to which peak-share relates.
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
			gflops, err := bench.Peak(opened, choice.CUDA())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(stdout, "%.1f GFLOP/s\n", gflops)
			return err
		},
	}
}

// choose puts experiments and sizes into a plan by their names.
func choose(plan *bench.Plan, only, sizes []string) (err error) {
	plan.Experiments = slices.Concat(experiments.Table, experiments.Unroll)
	if len(only) > 0 {
		chosen, err := study.Suite.Only(only)
		if err != nil {
			return err
		}
		plan.Experiments = chosen.Experiments()
	}
	for _, text := range sizes {
		size, err := bench.ParseSize(text)
		if err != nil {
			return err
		}
		plan.Sizes = append(plan.Sizes, size)
	}
	return nil
}
