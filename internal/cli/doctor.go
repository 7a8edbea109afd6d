package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/experiments/backend"
	"ebsscgo/experiments/data"
)

func doctorCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is there (backends, GPU, data, disk) and what to do about what is not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, finding := range append(backend.Diagnose(cmd.Context()), data.Diagnose(folder)...) {
				fmt.Fprintf(w, "%s\t%s\t%s\n", finding.What, finding.Status, finding.Detail)
				if finding.Do != "" {
					fmt.Fprintf(w, "\t\t→ %s\n", finding.Do)
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().StringVar(&folder, "data", "", "folder with CIFAR-10 in its binary version (default: $"+data.EnvVar+" or the cache)")
	return cmd
}
