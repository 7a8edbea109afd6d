package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/study"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List experiments with the paper's numbers, and profiles",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "EXPERIMENT\tMODEL\tPARAMETERS\t+ OFFSETS\tPAPER: PARAMS\tTRAIN %\tTEST %")
			paper, err := experiments.FindProfile("paper")
			if err != nil {
				return err
			}
			for _, s := range study.Suite {
				for _, e := range s.Experiments {
					count, err := e.Network(paper.Scale(s).Width).Count()
					if err != nil {
						return err
					}
					fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", e.Name, e.Title, count.Dictionary+count.Classifier, count.Offsets,
						e.Paper.Params, known(e.Paper.TrainErr), known(e.Paper.TestErr))
				}
			}
			fmt.Fprintln(w, "\nSTUDY\tPROFILE\tWIDTH\tIMAGES\tEPOCHS\tSEEDS\tABOUT")
			for _, s := range study.Suite {
				for _, p := range experiments.Profiles {
					scale, images := p.Scale(s), "all"
					if scale.TrainImages > 0 {
						images = fmt.Sprint(scale.TrainImages)
					}
					fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%d\t%d\t%s\n", s.Name, p.Name, scale.Width, images, scale.Epochs, scale.Seeds, p.About)
				}
			}
			return w.Flush()
		},
	}
}

// known prints a percentage that the paper reports; nothing for 0, which stands for none.
func known(percent float64) string {
	if percent == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", percent)
}
