package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/report"
	"ebsscgo/internal/study"
)

func reportCommand(stdout io.Writer) *cobra.Command {
	var results string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write tables, the ledger of claims, figures and the page from the records; trains nothing",
		Long: "Write tables, the ledger of claims, figures and the page from the records; trains nothing and needs no data.\n\n" +
			"To merge the results of several machines, copy their records (results/<profile>/runs/*.json, and of decodings the\n" +
			"figures beside them) into one folder first. A record that does not fit its own content is refused.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := study.ResultsExist(results); err != nil {
				return err
			}
			profiles, err := report.WriteAll(cmd.Context(), results, study.Suite)
			var text strings.Builder
			for _, p := range profiles {
				sayMissing(&text, p, results)
				if page, ok := pageOf(results, p.Name); ok {
					fmt.Fprintln(&text, page)
				}
			}
			_, unsaid := io.WriteString(stdout, text.String())
			return errors.Join(err, unsaid)
		},
	}
	cmd.Flags().StringVar(&results, "results", "results", "folder of the results")
	return cmd
}

// sayMissing names the experiments that the begun studies of a profile lack, with the commands that train them.
func sayMissing(stdout io.Writer, p *report.Profile, results string) {
	for _, missing := range p.Missing() {
		fmt.Fprintf(stdout, "not trained at profile %s: %s --results %s\n", p.Name, missing, results)
	}
}

// pageOf is the page of a profile's results, if there is one: there is none of trials alone.
func pageOf(results, profile string) (path string, ok bool) {
	path = filepath.Join(results, profile, report.PageFile)
	_, err := os.Stat(path)
	return path, err == nil
}

func runsCommand(stdout io.Writer) *cobra.Command {
	var results, profile string
	var csv bool
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List all recorded runs: the profile's own, and trials with other settings",
		Long: "List all recorded runs of a profile. Reports show the profile's own runs alone. A run whose settings differ from the\n" +
			"profile's (--set, --width, --images, --epochs, --held-out) is a trial, and the list says in what it differs.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := study.ResultsExist(results); err != nil {
				return err
			}
			p, err := report.Load(results, profile, study.Suite)
			if err != nil {
				return err
			}
			if len(p.Records) == 0 {
				return fmt.Errorf("no runs are recorded at profile %s in %s: ebssc run table --profile %[1]s --results %[2]s", profile, results)
			}
			if csv {
				_, err = stdout.Write(p.RunsCSV())
				return err
			}
			_, err = fmt.Fprint(stdout, p.RunsText())
			sayMissing(stdout, p, results)
			return err
		},
	}
	cmd.Flags().StringVar(&results, "results", "results", "folder of the results")
	cmd.Flags().StringVar(&profile, "profile", "quick", "scale: "+profileNames())
	cmd.Flags().BoolVar(&csv, "csv", false, "print CSV")
	return cmd
}

// show prints the tables of the studies, the score of the claims, and where all of it stands.
func show(stdout io.Writer, results, profile string, studies experiments.Suite) error {
	p, err := report.Load(results, profile, study.Suite)
	if err != nil {
		return err
	}
	for _, s := range studies {
		text, err := p.Text(s)
		if err != nil {
			return err
		}
		if text != "" {
			fmt.Fprintf(stdout, "\n%s", text)
		}
		chosen := p.Chosen(s)
		for _, e := range s.Experiments {
			if settings, ok := chosen[e.Name]; ok {
				fmt.Fprintf(stdout, "%s: of the grid, %s has the smallest held-out error\n", e.Name, settings)
			}
		}
	}
	claims, err := p.Claims()
	if err != nil {
		return err
	}
	if page, ok := pageOf(results, profile); ok {
		fmt.Fprintf(stdout, "\n%s\n\nall of it on one page: %s\n", report.Score(claims), page)
	}
	fmt.Fprintf(stdout, "all runs, trials too: ebssc runs --profile %s --results %s\n", profile, results)
	return nil
}
