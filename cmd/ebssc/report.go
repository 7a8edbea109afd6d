package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/report"
)

func reportCommand() *cobra.Command {
	var results string
	var merged []string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Rewrite tables, the ledger of claims, figures and the page from recorded runs; trains nothing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(merged) > 0 {
				m, err := report.Merge(results, merged...)
				if err != nil {
					return err
				}
				writeMerged(cmd.OutOrStdout(), m)
			}
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
				missing, err := report.Missing(filepath.Join(results, profile.Name))
				if err != nil {
					return err
				}
				for _, run := range missing {
					fmt.Fprintf(cmd.OutOrStdout(), "missing at profile %s: %s\n", profile.Name, run)
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
	cmd.Flags().StringSliceVar(&merged, "merge", nil, "other folders of results, such as other machines', whose runs are added first")
	return cmd
}

// writeMerged says what came of putting folders together, a line for each run that wants attention.
func writeMerged(out io.Writer, m report.Merged) {
	fmt.Fprintf(out, "%d runs added, %d were there with the same result\n", len(m.Added), len(m.Twice))
	for _, id := range m.Inconsistent {
		fmt.Fprintf(out, "inconsistent: %s is there with another result, which stays\n", id)
	}
	for _, id := range m.Unfinished {
		fmt.Fprintf(out, "unfinished: %s is left where it is\n", id)
	}
}
