package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ebsscgo/experiments"
	"ebsscgo/experiments/backend"
	"ebsscgo/experiments/data"
	"ebsscgo/experiments/report"
	"ebsscgo/experiments/training"
)

// runFlags are what `run` can be told.
type runFlags struct {
	profile, data, backend, results, set string
	rows                                 []string
	seeds, epochs, heldOut               int
}

func runCommand(stdout io.Writer) *cobra.Command {
	run := &cobra.Command{
		Use:   "run",
		Short: "Train experiments and write their results",
		Long: "Train experiments and write their results.\n\n" +
			"A run that was stopped goes on from its last epoch; one that is finished is not trained again. A run is\n" +
			"identified by everything that decides its result, so changing a setting makes another run beside it.",
	}
	return group(run, runTableCommand(stdout))
}

func runTableCommand(stdout io.Writer) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Train the rows of the paper's table",
		Long: "Train the rows of the paper's table and write <results>/<profile>/table.csv and table.md.\n\n" +
			"--set changes hyperparameters: \"key=value;key=value\", or \"file:PATH\" with such lines. Their names and values\n" +
			"in the recipe (profiles change some; what they mean is said at their constants in experiments and ebssc):\n\n  " +
			strings.ReplaceAll(experiments.Recipe.String(), ";", "\n  "),
		Args:    cobra.NoArgs,
		Example: "  ebssc run table --profile smoke\n  ebssc run table --rows ssc-lc7,ssc-ebc67 --seeds 3 --set=\"learning_rate=0.002;beta=0.01\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runTable(cmd.Context(), stdout, flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.profile, "profile", "quick", "scale: smoke, quick or paper (see ebssc list)")
	f.StringSliceVar(&flags.rows, "rows", nil, "names of the rows to train (default: all)")
	f.IntVar(&flags.seeds, "seeds", 0, "number of seeds a row (default: the profile's)")
	f.IntVar(&flags.epochs, "epochs", 0, "number of epochs (default: the profile's)")
	f.IntVar(&flags.heldOut, "held-out", 0, "measure on this many held-out training images, not on the test set; for choosing settings")
	f.StringVar(&flags.set, "set", "", "hyperparameters, as \"key=value;key=value\"")
	f.StringVar(&flags.data, "data", "", "folder with CIFAR-10 in its binary version (default: $"+data.EnvVar+", the cache, or a download)")
	f.StringVar(&flags.backend, "backend", "", "cpu, cuda, go or a GoMLX configuration (default: $GOMLX_BACKEND, or the best there is)")
	f.StringVar(&flags.results, "results", "results", "folder for the results")
	return cmd
}

// runTable trains the rows of the table that the flags ask for and reports after each.
func runTable(ctx context.Context, stdout io.Writer, flags runFlags) error {
	rows, err := experiments.Find(experiments.Table, flags.rows)
	if err != nil {
		return err
	}
	profile, err := experiments.FindProfile(flags.profile)
	if err != nil {
		return err
	}
	if flags.seeds < 0 || flags.epochs < 0 || flags.heldOut < 0 {
		return errors.New("--seeds, --epochs and --held-out must not be negative")
	}
	if flags.seeds > 0 {
		profile.Seeds = flags.seeds
	}
	if flags.epochs > 0 {
		profile.Epochs = flags.epochs
	}
	overrides, err := experiments.ParseSettings(flags.set)
	if err != nil {
		return err
	}
	set, err := images(ctx, stdout, flags.data)
	if err != nil {
		return err
	}
	opened, choice, err := backend.Open(ctx, flags.backend)
	if err != nil {
		return err
	}
	defer opened.Finalize()
	if choice.Warning != "" {
		fmt.Fprintln(stdout, "warning: "+choice.Warning)
	}
	fmt.Fprintf(stdout, "%s on %s (%s), profile %s: results in %s\n", data.Title(set.Name), choice.Name, choice.Why,
		profile.Name, filepath.Join(flags.results, profile.Name))

	described := experiments.Dataset{Name: set.Name, SHA256: set.SHA256, Train: set.Train.Len(), Test: set.Test.Len()}
	lab := &training.Lab{Backend: opened, Set: set, Log: stdout, Terminal: isTerminal(stdout), Commit: commit()}
	for _, row := range rows {
		runs, err := experiments.Plan(row, profile, described, choice.Name, overrides, flags.heldOut)
		if err != nil {
			return err
		}
		for _, run := range runs {
			result, err := lab.Train(ctx, run, filepath.Join(flags.results, profile.Name, report.RunsFolder))
			if err != nil {
				return err
			}
			measured := "test error"
			if run.HeldOut > 0 {
				measured = "held-out error"
			}
			fmt.Fprintf(stdout, "%s, seed %d: train error %.2f%%, %s %.2f%%, %.0f s\n", row.Title, run.Seed,
				result.TrainErr, measured, result.TestErr, result.Seconds)
		}
		if err := report.Write(flags.results, profile.Name); err != nil {
			return err
		}
	}
	if flags.heldOut > 0 {
		return nil
	}
	table, err := os.ReadFile(filepath.Join(flags.results, profile.Name, "table.md"))
	if err != nil {
		return fmt.Errorf("reading the table: %w", err)
	}
	fmt.Fprintf(stdout, "\n%s", table)
	return nil
}

// images is CIFAR-10, or MNIST padded to its size where CIFAR-10 cannot be had at all.
func images(ctx context.Context, stdout io.Writer, folder string) (*data.Set, error) {
	set, err := data.CIFAR10(ctx, folder, stdout)
	if !errors.Is(err, data.ErrUnavailable) {
		return set, err
	}
	fmt.Fprintf(stdout, "CIFAR-10 cannot be had here (%s): the same networks on MNIST instead, padded to 32×32×3; "+
		"for CIFAR-10 give its folder with --data\n", oneLine(err))
	digits, err := data.MNIST(ctx, folder, stdout)
	if err != nil {
		return nil, err
	}
	return digits.Padded32(), nil
}

// isTerminal says whether w shows cursor movements.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
