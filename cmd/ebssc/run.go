package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/device"
	"ebsscgo/internal/pipeline"
	"ebsscgo/internal/report"
)

func runCommand() *cobra.Command {
	run := &cobra.Command{
		Use:   "run",
		Short: "Train experiments and write their results",
		Long: "Train experiments and write their results to <results>/<profile>/.\n\n" +
			"A stopped run goes on from its last checkpoint. A recorded run is not trained again. All " +
			"that decides a run's result identifies it: a changed hyperparameter makes another run, a " +
			"trial, which never takes the place of the profile's own run in a report. `ebssc runs` " +
			"lists both.",
	}
	reported := slices.DeleteFunc(slices.Clone(catalogue.All),
		func(s experiments.Study) bool { return s.Ablation })
	commands := []*cobra.Command{runStudies("all", "all that the paper reports", reported)}
	for _, s := range catalogue.All {
		about := s.About + ", on " + string(s.Images)
		commands = append(commands, runStudies(s.Name, about, experiments.Suite{s}))
	}
	return group(run, commands...)
}

var errPicturesAndData = errors.New("--pictures and --data both name images: leave one out")

// runStudies returns the command that runs some studies.
func runStudies(name, about string, studies experiments.Suite) *cobra.Command {
	var o pipeline.Options
	var only []string
	cmd := &cobra.Command{
		Use:   name,
		Short: "Train " + about,
		Args:  cobra.NoArgs,
		Example: fmt.Sprintf("  ebssc run %s --profile smoke\n"+
			"  ebssc run %[1]s --only %s --seeds 3 --set=\"beta=0.01\"",
			name, studies[0].Experiments[0].Name),
		RunE: func(cmd *cobra.Command, _ []string) error {
			counts := []string{"seeds", "epochs", "width", "images", "held-out", "jobs"}
			for _, name := range counts {
				value, err := cmd.Flags().GetInt(name)
				if err == nil && value < 1 && cmd.Flags().Changed(name) {
					return fmt.Errorf("--%s %d is out of range: leave it out, or choose at least 1",
						name, value)
				}
			}
			if o.Pictures.Folder != "" && o.Data != "" {
				return errPicturesAndData
			}
			for _, name := range []string{"side", "grey"} {
				if cmd.Flags().Changed(name) && o.Pictures.Folder == "" {
					return fmt.Errorf("--%s is of --pictures: name a folder with that, too", name)
				}
			}
			if cmd.Flags().Changed("only") && len(only) == 0 {
				return errors.New("--only names no experiment: leave it out for all")
			}
			return run(cmd.Context(), cmd.OutOrStdout(), o, only, studies)
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Root().HelpFunc()(cmd, args)
		describeHyper(cmd.OutOrStdout(), studies[0], o.Profile)
	})
	profileFlag(cmd, &o.Profile)
	dataFlag(cmd, &o.Data)
	resultsFlag(cmd, &o.Results)
	f := cmd.Flags()
	placeFlag(cmd, &o.Pictures.Folder, "pictures", "", "folder of your own pictures to train on, "+
		"a subfolder for each class, or such in train/ and test/ (default: the study's data set)")
	f.IntVar(&o.Pictures.Side, "side", 32, fmt.Sprintf("side of the images that --pictures become, "+
		"in pixels: %d to %d", experiments.MinSide, experiments.MaxSide))
	f.BoolVar(&o.Pictures.Grey, "grey", false, "make images of one channel of --pictures")
	f.IntVar(&o.Seeds, "seeds", 0, "number of seeds an experiment (default: the profile's)")
	standard := " (default: the profile's)"
	if slices.ContainsFunc(studies, experiments.Study.Rescales) {
		standard += "; rows that change it take a multiple"
	}
	f.IntVar(&o.Epochs, "epochs", 0, "number of epochs"+standard)
	f.IntVar(&o.Width, "width", 0, "number of filters of the first block"+standard)
	f.IntVar(&o.Images, "images", 0, "number of training images, from the first"+standard)
	f.IntVar(&o.HeldOut, "held-out", 0, "measure on this many held-out training images, "+
		"not on the test set, to choose hyperparameters")
	f.Func("set", "a hyperparameter, as `name=value`, or several, as \"name=value;name=value\"; may "+
		"be given again for others", func(text string) error {
		o.Set = strings.TrimPrefix(o.Set+";"+text, ";")
		return nil
	})
	f.StringSliceVar(&only, "only", nil, "names of the experiments to train (default: all)")
	f.StringVar(&o.Backend, "backend", "", "cpu, cuda, go or a GoMLX configuration "+
		"(default: $GOMLX_BACKEND, or the best available one)")
	f.IntVar(&o.Jobs, "jobs", 0, "number of runs that train at a time; each has a share of the "+
		"cores, all share a GPU (default: one on a GPU, else as many as cores and memory allow)")
	f.Func("shard", "train one part of all runs, such as 3/10, and write their records alone "+
		"(see experiments/cluster)", o.Shard.Set)
	return cmd
}

// describeHyper lists the hyperparameters of a study's first experiment at a profile, as --set
// takes them, and the values that its other experiments have.
func describeHyper(out io.Writer, study experiments.Study, name string) {
	profile, _ := experiments.FindProfile(name) // what is no profile has the recipe's values
	change := profile.Scales[study.Name].Change
	fmt.Fprintf(out, "\n%s\n", fold(fmt.Sprintf("Hyperparameters for --set, with the values of %s "+
		"at profile %s:", study.Experiments[0].Name, name), 0))
	rows := experiments.Recipe.Changed(change, study.Experiments[0].Change).Describe()
	for i, row := range rows {
		others := map[string]bool{}
		for _, e := range study.Experiments {
			others[experiments.Recipe.Changed(change, e.Change).Describe()[i][0]] = true
		}
		delete(others, row[0])
		const column = 26 // of the descriptions
		fmt.Fprintf(out, "  %-23s %s\n", row[0], fold(row[1], column))
		if len(others) > 0 {
			values := "other experiments: " + strings.Join(slices.Sorted(maps.Keys(others)), ", ")
			fmt.Fprintf(out, "%*s%s\n", column, "", fold(values, column))
		}
	}
}

// run trains the experiments that only names, or all, and prints their tables and where all of it
// stands.
func run(ctx context.Context, stdout io.Writer, o pipeline.Options, only []string,
	studies experiments.Suite) (err error) {
	o.Out, o.Terminal = stdout, isTerminal(os.Stdout)
	for _, name := range only {
		owner, _, err := catalogue.All.Experiment(name)
		if _, other := studies.Study(owner.Name); err == nil && other != nil {
			return fmt.Errorf("%s is an experiment of study %s: ebssc run %[2]s --only %[1]s",
				name, owner.Name)
		}
	}
	if studies, err = studies.Only(only); err != nil {
		return err
	}
	if profile, err := experiments.FindProfile(o.Profile); err == nil {
		if len(only) == 0 && len(studies) > 1 {
			studies = studies.ForProfile(profile)
		}
		warnOfMemory(stdout, profile, max(1, o.Jobs))
	}
	reports, diverged, err := pipeline.Run(ctx, o, studies)
	for _, folder := range slices.Sorted(maps.Keys(reports)) {
		p := reports[folder]
		for _, s := range studies {
			tables := []report.Table{p.TrialsOf(s, o.Overrides)}
			if o.Overrides == (experiments.Overrides{Seeds: o.Seeds}) {
				tables = p.Brief(s)
			}
			for _, table := range tables {
				if len(table.Rows) > 0 {
					fmt.Fprintf(stdout, "\n%s", table.Text())
				}
			}
		}
		fmt.Fprintf(stdout, "\nall of it: %s\n", filepath.Join(p.Folder, report.File))
	}
	return errors.Join(diverged, err)
}

// isTerminal reports whether a file is a terminal that a progress bar can be drawn on: on a narrow
// one its lines would break, and each bar would leave a part of the one before.
func isTerminal(file *os.File) bool {
	width, _, err := term.GetSize(int(file.Fd()))
	return err == nil && width >= columns && os.Getenv("TERM") != "dumb"
}

// warnOfMemory says so if the memory may not be enough for that many runs at a time: the kernel
// kills a program that takes more, without a word.
func warnOfMemory(stdout io.Writer, profile experiments.Profile, jobs int) {
	who := "profile " + profile.Name
	if jobs > 1 {
		who = fmt.Sprintf("%s with %d jobs", who, jobs)
	}
	memory := device.CheckMemory(who, uint64(profile.Memory*float64(jobs)*device.GiB))
	if memory.Status != device.OK {
		fmt.Fprintf(stdout, "warning: memory: %s; %s\n", memory.Detail, memory.Do)
	}
}
