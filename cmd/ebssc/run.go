package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/study"
)

// runFlags are the flags of `ebssc run`.
type runFlags struct {
	study.Options
	set, shard string
	only       []string
	ablations  bool
}

// add adds the flags.
func (flags *runFlags) add(f *pflag.FlagSet) {
	f.StringVar(&flags.Profile, "profile", "quick", "scale: "+profileNames()+" (see ebssc list)")
	f.IntVar(&flags.Seeds, "seeds", 0, "number of seeds an experiment (default: the profile's)")
	f.IntVar(&flags.Epochs, "epochs", 0, "number of epochs (default: the profile's)")
	f.IntVar(&flags.Width, "width", 0, "number of filters of the first block (default: the profile's)")
	f.IntVar(&flags.Images, "images", 0, "number of training images, from the first (default: the profile's)")
	f.IntVar(&flags.HeldOut, "held-out", 0, "measure on this many held-out training images, not on the test set, to choose settings")
	f.BoolVar(&flags.Grid, "grid", false, "train at all points of the study's grid of settings, with --held-out, to choose settings")
	f.StringVar(&flags.set, "set", "", "hyperparameters, as \"key=value;key=value\"")
	f.StringSliceVar(&flags.only, "only", nil, "names of the experiments to train (default: all)")
	f.StringVar(&flags.Data, "data", "", dataFlag+" (default: $"+dataset.EnvVar+", the cache, or a download)")
	f.StringVar(&flags.Backend, "backend", "", "cpu, cuda, go or a GoMLX configuration (default: $GOMLX_BACKEND, or the best available one)")
	f.IntVar(&flags.Devices, "devices", 1, "number of the backend's devices that share each training batch, with plain operations (cpu has any number, for tests)")
	f.StringVar(&flags.Results, "results", "results", "folder for the results")
	f.IntVar(&flags.Jobs, "jobs", 1, "number of runs that train at a time; each has a share of the cores, all share a GPU")
	f.StringVar(&flags.shard, "shard", "", "train one part of all runs, such as 3/10, and write their records alone (see experiments/cluster)")
}

func runCommand(stdout io.Writer) *cobra.Command {
	run := &cobra.Command{
		Use:   "run",
		Short: "Train experiments and write their results",
		Long: "Train experiments and write their results.\n\n" +
			"A stopped run goes on from its last checkpoint. A recorded run is not trained again. All that decides a\n" +
			"run's result identifies it: changed settings make another run, a trial, which never takes the place of the\n" +
			"profile's own run in a report. `ebssc runs` lists both.",
	}
	reported := study.Reported()
	commands := []*cobra.Command{runStudies(stdout, "all", "all that the paper reports", reported, true)}
	drawn := slices.DeleteFunc(slices.Clone(reported), func(s experiments.Study) bool { return s.Report == experiments.Rows })
	commands = append(commands, runStudies(stdout, "figures", "the studies behind the paper's figures", drawn, false))
	for _, s := range study.Suite {
		commands = append(commands, runStudies(stdout, s.Name, s.About+", on "+string(s.Images), experiments.Suite{s}, false))
	}
	return group(run, commands...)
}

// runStudies is the command that runs some studies; all is the one that can add the ablations.
func runStudies(stdout io.Writer, name, about string, studies experiments.Suite, all bool) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   name,
		Short: "Train " + about,
		Long: "Train " + about + ", and write the results to <results>/<profile>/.\n\n" +
			"--set changes hyperparameters: \"key=value;key=value\", or \"file:PATH\" with such lines. These are their values in\n" +
			"the recipe; profiles change some:\n\n  " +
			strings.ReplaceAll(strings.TrimSpace(experiments.DescribeSettings()), "\n", "\n  "),
		Args: cobra.NoArgs,
		Example: fmt.Sprintf("  ebssc run %s --profile smoke\n  ebssc run %[1]s --only %s --seeds 3 --set=\"learning_rate=0.002;beta=0.01\"",
			name, studies[0].Experiments[0].Name),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"seeds", "epochs", "width", "images", "held-out"} {
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "0" {
					return fmt.Errorf("--%s 0 is out of range: leave it out for the profile's, or choose at least 1", name)
				}
			}
			if cmd.Flags().Lookup("only").Changed && len(flags.only) == 0 {
				return errors.New("--only names no experiment: leave it out for all")
			}
			if flags.ablations {
				studies = study.Suite
			}
			return run(cmd.Context(), stdout, studies, flags)
		},
	}
	flags.add(cmd.Flags())
	if all {
		cmd.Flags().BoolVar(&flags.ablations, "ablations", false, "train rows with one thing changed, too, which the paper does not report")
	}
	return cmd
}

// run trains the experiments that the flags select, and prints their reports.
func run(ctx context.Context, stdout io.Writer, studies experiments.Suite, flags runFlags) (err error) {
	flags.Out, flags.Terminal = stdout, isTerminal(stdout)
	if flags.Settings, err = experiments.ParseSettings(flags.set); err != nil {
		return err
	}
	if flags.Shard, err = study.ParseShard(flags.shard); err != nil {
		return err
	}
	for _, name := range flags.only {
		if owner, _, err := study.Suite.Experiment(name); err == nil && !slices.ContainsFunc(studies, func(s experiments.Study) bool { return s.Name == owner.Name }) {
			return fmt.Errorf("%s is an experiment of study %s: ebssc run %[2]s --only %[1]s", name, owner.Name)
		}
	}
	if studies, err = studies.Only(flags.only); err != nil {
		return err
	}
	if err := flags.Check(studies); err != nil {
		return err
	}
	session, err := study.Start(ctx, flags.Options)
	if err != nil {
		return err
	}
	defer session.Close()
	diverged, err := session.Run(ctx, studies)
	if err != nil || flags.Shard.Count > 0 {
		return errors.Join(diverged, err)
	}
	return errors.Join(diverged, show(stdout, flags.Results, flags.Profile, studies))
}

// profileNames lists the profiles in a sentence.
func profileNames() string {
	names := experiments.ProfileNames()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// isTerminal says whether w shows cursor movements.
func isTerminal(w io.Writer) bool {
	file, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(file.Fd()))
}
