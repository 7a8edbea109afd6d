package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/experiments/backend"
	"ebsscgo/internal/bench"
)

// benchFlags are what `bench` can be told.
type benchFlags struct {
	rows, peers, sizes []string
	rounds             int
	results            string
}

func benchCommand(stdout io.Writer) *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure training steps and inference against PyTorch and JAX on this CPU",
		Long: "Measure training steps and inference of the table's networks in this program, with its fast operations\n" +
			"(ebssc) and without (ebssc-plain), and in PyTorch and JAX, on all cores of this CPU; write <results>/bench/steps.csv.\n\n" +
			"The first time, PyTorch and JAX are installed in a virtual environment in the cache folder (several GB). All\n" +
			"programs compute the same from the same initial variables, which is checked. They take turns, compiled and\n" +
			"warmed up: minimum and median over the rounds, and the ratio of the medians to PyTorch's with the smallest and the\n" +
			"largest ratio of a round. Nothing else should run on the machine meanwhile.",
		Args:    cobra.NoArgs,
		Example: "  ebssc bench\n  ebssc bench --rows crelu-lc7 --sizes 32x96 --peers torch --rounds 15",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runBench(cmd.Context(), stdout, flags)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.rows, "rows", nil, "names of the rows to measure (default: all)")
	f.StringSliceVar(&flags.peers, "peers", bench.PeerNames, "programs to measure against")
	f.StringSliceVar(&flags.sizes, "sizes", []string{"32x96", "128x24"}, "sizes, each as batch x width")
	f.IntVar(&flags.rounds, "rounds", 7, "how often each program has its turn")
	f.StringVar(&flags.results, "results", "results", "folder for the results")
	return cmd
}

// runBench measures what the flags ask for.
func runBench(ctx context.Context, stdout io.Writer, flags benchFlags) error {
	plan := bench.Plan{Peers: flags.peers, Rounds: flags.rounds}
	var err error
	if plan.Rows, err = experiments.Find(experiments.Table, flags.rows); err != nil {
		return err
	}
	for _, text := range flags.sizes {
		size, err := bench.ParseSize(text)
		if err != nil {
			return err
		}
		plan.Sizes = append(plan.Sizes, size)
	}
	opened, _, err := backend.Open(ctx, "cpu")
	if err != nil {
		return err
	}
	defer opened.Finalize()
	return bench.Run(ctx, opened, plan, flags.results, commit(), stdout)
}
