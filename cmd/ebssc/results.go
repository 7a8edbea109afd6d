package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/report"
	"ebsscgo/internal/safefile"
)

func listCommand() *cobra.Command {
	var name, results string
	cmd := &cobra.Command{
		Use: "list", Short: "List studies and experiments, and what is recorded", Args: cobra.NoArgs,
		Long: "List the studies of a profile with their size and what is recorded, and their " +
			"experiments with their parameters and the paper's numbers. Hours are the sum over runs, " +
			"which may have trained side by side.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := experiments.FindProfile(name)
			if err != nil {
				return err
			}
			folders, err := report.LoadAll(results, name) // one for each data set
			if err != nil {
				return err
			}
			return list(cmd.OutOrStdout(), profile, folders)
		},
	}
	profileFlag(cmd, &name)
	resultsFlag(cmd, &results)
	return cmd
}

// list prints the studies of a profile and their experiments, in lines of 80 characters where names
// allow it.
func list(out io.Writer, profile experiments.Profile, folders []*report.Results) error {
	fmt.Fprintf(out, "Profile %s: %s.\n\n", profile.Name, profile.About)
	const study, experiment = "%-14s %5s  %-15s %6s %11s %7s\n", "%-25s %10s  %6s %7s %6s  %s\n"
	const about, model = 4, 61 // columns of those
	fmt.Fprintf(out, study, "STUDY", "RUNS", "RECORDED", "WIDTH", "IMAGES", "EPOCHS")
	percent := func(value float64) string {
		if value == 0 { // stands for none
			return ""
		}
		return fmt.Sprintf("%.2f", value)
	}
	lines := fmt.Sprintf(experiment, "EXPERIMENT", "PARAMETERS", "PAPER:", "TRAIN %", "TEST %",
		"MODEL")
	for _, s := range catalogue.All.ForProfile(profile) {
		runs, err := experiments.Plan(s, profile, s.Images.Declared(), experiments.Overrides{})
		if err != nil {
			return err
		}
		done, seconds := 0, 0.0 // of the data set with the most runs
		for _, p := range folders {
			count, sum := 0, 0.0
			for _, row := range p.Rows(s) {
				for _, r := range row.Records {
					count, sum = count+1, sum+r.Seconds
				}
			}
			if count > done {
				done, seconds = count, sum
			}
		}
		took := ""
		if done > 0 {
			took = fmt.Sprintf("%d in %s", done, time.Duration(seconds)*time.Second)
		}
		var widths, images, epochs []int
		for _, run := range runs {
			widths, epochs = append(widths, run.Width()), append(epochs, run.Epochs)
			images = append(images, run.TrainImages)
		}
		fmt.Fprintf(out, study, s.Name, fmt.Sprint(len(runs)), took,
			report.Span(widths, "-"), report.Span(images, "-"), report.Span(epochs, "-"))
		fmt.Fprintf(out, "%*s%s\n", about, "", fold(s.About, about))
		for i, e := range s.Experiments {
			count, err := runs[i*len(runs)/len(s.Experiments)].Network.Count()
			if err != nil {
				return err
			}
			lines += fmt.Sprintf(experiment, e.Name, fmt.Sprint(count.Dictionary+count.Classifier),
				e.Paper.Params, percent(e.Paper.TrainErr), percent(e.Paper.TestErr),
				fold(e.Title, model))
		}
	}
	_, err := fmt.Fprintf(out, "\n%s\nTRAIN %% and TEST %% are errors.\n", lines)
	return err
}

func runsCommand() *cobra.Command {
	var name, results string
	cmd := &cobra.Command{
		Use: "runs [ID…]", Short: "List recorded runs, or print the commands of some",
		Args: cobra.ArbitraryArgs,
		Long: "List all recorded runs of a profile. Tables have the profile's own runs alone. A run " +
			"that the profile does not plan (by --set, --epochs, more --seeds …) is a trial, and the " +
			"list says in what it differs. With IDs print the commands of those runs, each of which trains " +
			"all seeds of its row.",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if _, err := experiments.FindProfile(name); err != nil {
				return err
			}
			profiles, err := report.LoadAll(results, name)
			if err != nil {
				return err
			}
			elsewhere := ""
			if cmd.Flags().Changed("results") {
				elsewhere = " --results " + safefile.Quoted(results)
			}
			found := map[string]bool{}
			for _, p := range profiles {
				if len(ids) == 0 && len(p.Records) > 0 {
					fmt.Fprintln(cmd.OutOrStdout(), p.Folder)
					for _, table := range p.Runs() {
						fmt.Fprintln(cmd.OutOrStdout(), table.Text())
					}
				}
				for _, id := range ids {
					if r, ok := p.Records[id]; ok {
						fmt.Fprintln(cmd.OutOrStdout(), r.Command+elsewhere)
						found[id] = true
					}
				}
			}
			unknown := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return found[id] })
			if len(unknown) > 0 {
				return noSuchRuns(unknown, name, results)
			}
			return noRuns(profiles, name, results)
		},
	}
	profileFlag(cmd, &name)
	resultsFlag(cmd, &results)
	return cmd
}

// noRuns returns an error if none of a profile's folders has a record. It names the profiles that
// have some, and else the command that trains.
func noRuns(profiles []*report.Results, name, results string) error {
	recorded := func(p *report.Results) bool { return len(p.Records) > 0 }
	if slices.ContainsFunc(profiles, recorded) {
		return nil
	}
	others, err := profilesWith(recorded, results)
	if err != nil {
		return err
	}
	if others == "" {
		results = safefile.Absolute(results) // another folder may be missed
		others = fmt.Sprintf("ebssc run table --profile %s --results %s", name, argument(results))
	}
	return fmt.Errorf("no runs are recorded at profile %s in %s: %s", name, results, others)
}

// noSuchRuns returns the error that a profile lacks runs. It names the profiles that have one.
func noSuchRuns(ids []string, name, results string) error {
	others, err := profilesWith(func(p *report.Results) bool {
		return slices.ContainsFunc(ids, func(id string) bool { return p.Records[id].ID != "" })
	}, results)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: no such runs are recorded at profile %s in %s: %s",
		strings.Join(ids, ", "), name, results, cmp.Or(others, "ebssc runs lists them"))
}

// profilesWith returns the advice to choose a profile that has such results; nothing if none has.
func profilesWith(such func(*report.Results) bool, results string) (choose string, err error) {
	all, err := report.LoadAll(results, "")
	if err != nil {
		return "", err
	}
	var names []string
	for _, p := range all {
		if such(p) && !slices.Contains(names, p.Profile.Name) {
			names = append(names, p.Profile.Name)
		}
	}
	if names != nil {
		choose = "choose --profile " + strings.Join(names, " or ")
	}
	return choose, nil
}

// argument returns a path as a shell takes it, in quotes where it needs them.
func argument(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return safefile.Quoted(path)
}

// plainPath matches paths that mean themselves to a shell.
var plainPath = regexp.MustCompile(`^[\w%+,./:=@-]+$`)

func reportCommand() *cobra.Command {
	var results string
	cmd := &cobra.Command{
		Use: "report", Short: "Write tables, claims and figures from the records", Args: cobra.NoArgs,
		Long: "Write <results>/<profile>/README.md with its tables and figures from the records, and, " +
			"if the folder is called results, the tables of the README beside it. report trains nothing and needs no data.\n\n" +
			"To merge the results of several machines, copy their records " +
			"(results/<profile>/runs/*.json, and of decodings the figures beside them) into one folder " +
			"first. A record that does not fit its own content is refused.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			folders, err := report.Folders(results, "")
			if err != nil {
				return err
			}
			written, err := report.WriteAll(cmd.Context(), results, folders)
			maps.DeleteFunc(written, func(_ string, p *report.Results) bool {
				return len(p.Records) == 0
			})
			if err == nil && len(written) == 0 {
				err = fmt.Errorf("no runs are recorded in %s: name the folder of results with --results",
					results)
			}
			if err == nil {
				err = report.WriteAnswer(results, written)
			}
			if err != nil {
				return err
			}
			for _, folder := range slices.Sorted(maps.Keys(written)) {
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(results, folder, report.File))
			}
			return nil
		},
	}
	resultsFlag(cmd, &results)
	return cmd
}

func compareCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compare A B", Short: "Compare results row by row", Args: cobra.ExactArgs(2),
		Long: "Compare the records of two folders of one profile (results/quick), row by row.\n\n" +
			"Exit status: 3 if a row's test error is higher in B, beyond Welch's 95 % interval over " +
			"seeds; else 0; 1 for an error.",
		Example: "  ebssc compare results/quick /tmp/mine/quick",
		RunE: func(cmd *cobra.Command, args []string) error {
			var sides [2]*report.Results
			for i, folder := range args {
				absolute, err := filepath.Abs(folder) // "." has a name, too
				if err != nil {
					return err
				}
				results, name := filepath.Split(absolute)
				folders, err := report.Folders(results, "")
				profile, ok := folders[name]
				if err == nil && !ok {
					err = fmt.Errorf("%s is no folder of a profile's results: "+
						"name one such as results/quick", folder)
				}
				if err != nil {
					return err
				}
				if sides[i], err = report.Load(results, name, profile); err != nil {
					return err
				}
			}
			table, worse, err := report.Compare(sides[0], sides[1])
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "A: %s\nB: %s\n\n%s", args[0], args[1], table.Text())
			if len(worse) > 0 {
				return fmt.Errorf("%w: %s", errWorse, strings.Join(worse, ", "))
			}
			return nil
		},
	}
}

// errWorse is the error of a comparison that finds rows worse than before. It has an exit status of
// its own.
var errWorse = errors.New("worse beyond the interval")
