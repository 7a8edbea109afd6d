package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/study"
)

func listCommand() *cobra.Command {
	var profileName, results string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List studies with their size and time, and experiments with their parameters and the paper's numbers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := experiments.FindProfile(profileName)
			if err != nil {
				return err
			}
			byNetwork, err := recordedTimes(results)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "Profile %s: %s. Other profiles: ebssc list --profile %s.\n", profile.Name, profile.About, profileNames())
			fmt.Fprintf(out, "Times are of one core, at the speed of the run of the same network in %s that trained for the most similar time; --jobs 2 trains two runs at a time, each on half of the cores.\n", results)
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "\nSTUDY\tRUNS\tWIDTH\tIMAGES\tEPOCHS\tCORE TIME\tABOUT")
			for _, s := range study.Suite {
				runs, err := declaredRuns(profile, s)
				if err != nil {
					return err
				}
				seconds, known := 0.0, true
				for _, run := range runs {
					own, ok, err := coreSeconds(run, byNetwork)
					if err != nil {
						return err
					}
					seconds += own
					known = known && ok
				}
				took := "not measured"
				if known {
					took = about(seconds)
				}
				fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%s\n", s.Name, len(runs), runs[0].Width(), runs[0].TrainImages, runs[0].Epochs,
					took, s.About)
			}
			fmt.Fprintln(w, "\nEXPERIMENT\tMODEL\tSTUDY\tPARAMETERS\t+ OFFSETS\tPAPER: PARAMS\tTRAIN %\tTEST %")
			for _, s := range study.Suite {
				for _, e := range s.Experiments {
					count, err := e.Network(profile.Scale(s).Width).Count()
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
	cmd.Flags().StringVar(&profileName, "profile", "quick", "scale: "+profileNames())
	cmd.Flags().StringVar(&results, "results", "results", "folder of the results")
	return cmd
}

// declaredRuns are a profile's runs of a study, on the data set that it is declared for.
func declaredRuns(profile experiments.Profile, s experiments.Study) (runs []experiments.Run, err error) {
	for _, e := range s.Experiments {
		planned, err := experiments.Plan(e, profile.Name, profile.Scale(s), s.Images.Declared(), experiments.Machine{Backend: experiments.XLACPU}, experiments.Overrides{})
		if err != nil {
			return nil, err
		}
		runs = append(runs, planned...)
	}
	return runs, nil
}

// recordedTimes are the records of runs on XLA's CPU by their network in JSON.
func recordedTimes(results string) (map[string][]record.Record, error) {
	byNetwork := map[string][]record.Record{}
	for r, err := range allRecords(results) {
		if err != nil {
			return nil, err
		}
		if r.Run.Machine.Backend != experiments.XLACPU {
			continue
		}
		network, err := json.Marshal(r.Run.Network)
		if err != nil {
			return nil, err
		}
		byNetwork[string(network)] = append(byNetwork[string(network)], r)
	}
	return byNetwork, nil
}

// coreSeconds estimates the time of one core that a run takes, from the record of its network that trained for the most similar time; of
// several such, the last. ok is false if none is within a factor of ten: compiling and decoding would weigh otherwise than in the run.
func coreSeconds(run experiments.Run, byNetwork map[string][]record.Record) (seconds float64, ok bool, err error) {
	network, err := json.Marshal(run.Network)
	if err != nil {
		return 0, false, err
	}
	// factor is how many times longer the run trains than a record did, or shorter.
	factor := func(r record.Record) float64 {
		return math.Exp(math.Abs(math.Log(float64(run.ImagesShown()) / float64(r.Run.ImagesShown()))))
	}
	records := slices.DeleteFunc(slices.Clone(byNetwork[string(network)]), func(r record.Record) bool { return factor(r) > 10 })
	if len(records) == 0 {
		return 0, false, nil
	}
	similar := slices.MinFunc(records, func(a, b record.Record) int {
		return cmp.Or(cmp.Compare(factor(a), factor(b)), b.Finished.Compare(a.Finished))
	})
	return similar.Seconds * float64(similar.Origin.Cores) * float64(run.ImagesShown()) / float64(similar.Run.ImagesShown()), true, nil
}

// about prints seconds in minutes or in hours.
func about(seconds float64) string {
	switch {
	case seconds < 90*60:
		return fmt.Sprintf("%.0f min", max(1, seconds/60))
	default:
		return fmt.Sprintf("%.1f h", seconds/3600)
	}
}

// known prints a percentage that the paper reports; nothing for 0, which stands for none.
func known(percent float64) string {
	if percent == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", percent)
}
