package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/study"
)

func listCommand() *cobra.Command {
	var name, results string
	cmd := &cobra.Command{
		Use: "list", Short: "List studies with size and time, and experiments with parameters and the paper's numbers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := experiments.FindProfile(name)
			if err != nil {
				return err
			}
			speeds, err := recordedSpeeds(results)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(w, "Profile %s: %s.\nTimes are of one core, at the speed of the same networks in %s.\n\n", name, profile.About, results)
			fmt.Fprintln(w, "STUDY\tRUNS\tWIDTH\tIMAGES\tEPOCHS\tCORE TIME\tABOUT")
			for _, s := range study.Suite.Of(profile) {
				runs, err := experiments.Plan(s, profile, s.Images.Declared(), experiments.Overrides{})
				if err != nil {
					return err
				}
				r := runs[0]
				fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\n", s.Name, len(runs), r.Width(), r.TrainImages, r.Epochs, coreTime(runs, speeds), s.About)
			}
			fmt.Fprintln(w, "\nEXPERIMENT\tMODEL\tSTUDY\tPARAMETERS\t+ OFFSETS\tPAPER: PARAMS\tTRAIN %\tTEST %")
			for _, s := range study.Suite.Of(profile) {
				for _, e := range s.Experiments {
					count, err := e.Network(profile.Scales[s.Name].Width).Count()
					if err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", e.Name, e.Title, s.Name, count.Dictionary+count.Classifier, count.Offsets,
						e.Paper.Params, known(e.Paper.TrainErr), known(e.Paper.TestErr))
				}
			}
			return w.Flush()
		},
	}
	profileFlag(cmd, &name)
	resultsFlag(cmd, &results)
	return cmd
}

// known prints a percentage that the paper reports; nothing for 0, which stands for none.
func known(percent float64) string {
	if percent == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", percent)
}

// recordedSpeeds are core seconds for each image of an epoch, by network, of recorded runs on CPUs.
func recordedSpeeds(results string) (map[string]float64, error) {
	speeds := map[string]float64{}
	folders, _ := study.Folders(results) // without results nothing is measured
	for folder := range folders {
		records, err := record.LoadAll(filepath.Join(results, folder, record.Folder))
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if shown := r.Run.TrainImages * r.Run.Epochs; shown > 0 && r.Origin.GPU == "" {
				speeds[networkOf(r.Run)] = r.Seconds * float64(r.Origin.Cores) / float64(shown)
			}
		}
	}
	return speeds, nil
}

// networkOf is the hash of the network of a run.
func networkOf(run experiments.Run) string { return experiments.Run{Network: run.Network}.ID() }

// coreTime prints the time of one core that runs take.
func coreTime(runs []experiments.Run, speeds map[string]float64) string {
	seconds := 0.0
	for _, run := range runs {
		speed, ok := speeds[networkOf(run)]
		if !ok {
			return "not measured"
		}
		seconds += speed * float64(run.TrainImages*run.Epochs)
	}
	if seconds < 90*60 {
		return fmt.Sprintf("%.0f min", max(1, seconds/60))
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}

func runsCommand() *cobra.Command {
	var name, results string
	cmd := &cobra.Command{
		Use: "runs", Short: "List all recorded runs of a profile: its own, and trials", Args: cobra.NoArgs,
		Long: "List all recorded runs of a profile. Reports show the profile's own runs alone. A run that was planned with --set, --width,\n" +
			"--images, --epochs or --held-out is a trial, and the list says in what it differs.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := experiments.FindProfile(name); err != nil {
				return err
			}
			folders, err := study.Folders(results)
			if err != nil {
				return err
			}
			maps.DeleteFunc(folders, func(_ string, of experiments.Profile) bool { return of.Name != name })
			if len(folders) == 0 {
				return fmt.Errorf("no runs are recorded at profile %s in %s: ebssc run table --profile %[1]s --results %[2]s", name, results)
			}
			for _, folder := range slices.Sorted(maps.Keys(folders)) {
				p, err := report.Load(results, folder, folders[folder], study.Suite)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s", p.Folder, p.Runs().Text())
			}
			return nil
		},
	}
	profileFlag(cmd, &name)
	resultsFlag(cmd, &results)
	return cmd
}

func reportCommand() *cobra.Command {
	var results string
	cmd := &cobra.Command{
		Use: "report", Short: "Write tables, claims and figures from the records; trains nothing", Args: cobra.NoArgs,
		Long: "Write <results>/<profile>/README.md with its tables and figures from the records; trains nothing and needs no data.\n\n" +
			"To merge the results of several machines, copy their records (results/<profile>/runs/*.json, and of decodings the\n" +
			"figures beside them) into one folder first. A record that does not fit its own content is refused.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			folders, err := study.Folders(results)
			if err != nil {
				return err
			}
			written, err := report.WriteAll(results, folders, study.Suite)
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
		Use: "compare A B", Short: "Compare results row by row; exit status 3 if a row got worse in B, beyond the interval", Args: cobra.ExactArgs(2),
		Long: "Compare the records of two folders of one profile (results/quick), row by row.\n\n" +
			"Exit status: 3 if a row's test error is higher in B, beyond Welch's 95 % interval over seeds; else 0; 1 for an error.",
		Example: "  ebssc compare results/quick /tmp/mine/quick",
		RunE: func(cmd *cobra.Command, args []string) error {
			var sides [2]*report.Profile
			for i, folder := range args {
				results, name := filepath.Split(filepath.Clean(folder))
				profileName, _, _ := strings.Cut(name, "-")
				profile, err := experiments.FindProfile(profileName)
				if err != nil {
					return fmt.Errorf("%s is no folder of a profile's results: %w", folder, err)
				}
				if sides[i], err = report.Load(results, name, profile, study.Suite); err != nil {
					return err
				}
			}
			table, worse, err := report.Compare(sides[0], sides[1])
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "A: %s\nB: %s\n\n%s", args[0], args[1], table.Text())
			if len(worse) > 0 {
				return regression(worse)
			}
			return nil
		},
	}
}

// regression is the error of a comparison that finds rows worse than before. It has an exit status of its own.
type regression []string

// Error names the rows.
func (r regression) Error() string { return "worse beyond the interval: " + strings.Join(r, ", ") }
