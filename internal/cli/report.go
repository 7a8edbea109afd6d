package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/experiments/report"
)

func reportCommand() *cobra.Command {
	var results string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Rewrite tables, the ledger of claims, figures and the page from recorded runs; trains nothing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Stat(results); err != nil {
				return fmt.Errorf("no results in %s: %w: name their folder with --results", results, err)
			}
			if err := report.WritePaper(results); err != nil {
				return err
			}
			for _, profile := range experiments.Profiles {
				if err := report.Write(results, profile.Name); err != nil {
					return err
				}
				if err := report.WritePage(results, profile.Name); err != nil {
					return err
				}
				path := filepath.Join(results, profile.Name, report.PageFile)
				if _, err := os.Stat(path); err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), path)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&results, "results", "results", "folder of the results")
	return cmd
}
