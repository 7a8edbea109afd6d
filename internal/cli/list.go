package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List experiments with the paper's numbers, and profiles",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "EXPERIMENT\tMODEL\tPARAMETERS\t+ OFFSETS\tPAPER: PARAMS\tTRAIN %\tTEST %")
			for _, row := range experiments.Table {
				count, err := row.Network(experiments.PaperWidth).Count()
				if err != nil {
					return err
				}
				fmt.Fprintf(w, "%s\t%s\t%d\t%d", row.Name, row.Title, count.Dictionary+count.Classifier, count.Offsets)
				if row.Paper != (experiments.Paper{}) {
					fmt.Fprintf(w, "\t%s\t%.2f\t%.2f", row.Paper.Params, row.Paper.TrainErr, row.Paper.TestErr)
				}
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, "\nPROFILE\tWIDTH\tIMAGES\tEPOCHS\tSEEDS\tABOUT")
			for _, p := range experiments.Profiles {
				images := "all"
				if p.TrainImages > 0 {
					images = fmt.Sprint(p.TrainImages)
				}
				fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d\t%s\n", p.Name, p.Width, images, p.Epochs, p.Seeds, p.About)
			}
			return w.Flush()
		},
	}
}
