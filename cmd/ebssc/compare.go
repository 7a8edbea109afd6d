package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/internal/report"
)

func compareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B",
		Short: "Compare results row by row; exit status 3 if a row of B is worse than in A, beyond the interval",
		Long: "Compare results row by row: the folders of two profiles (results/quick), two folders of profiles, or two CSV files of\n" +
			"the same kind (table.csv, unroll_summary.csv and those of other studies).\n\n" +
			"Exit status: 3 if a row's test error is higher in B, beyond the interval of the difference; else 0; 1 for an error.\n" +
			"Rows and tables that only one of them has are listed, and rows of different images or profiles are compared with a\n" +
			"warning; neither is an error, but to have no row in common is.\n\n" +
			"Intervals are at 95 % for each row: of 40 rows that differ by chance alone, about one is called worse.\n\n" + strings.TrimSpace(intervalMethods),
		Example: "  ebssc compare results/quick /tmp/mine/quick\n  ebssc compare old/table.csv results/quick/table.csv",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			comparisons, err := report.Compare(args[0], args[1])
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "A: %s\nB: %s\n", args[0], args[1])
			var worse regression
			for _, c := range comparisons {
				if err := writeComparison(cmd.OutOrStdout(), c); err != nil {
					return err
				}
				for _, row := range c.Rows {
					if row.Verdict() == report.Worse {
						worse = append(worse, fmt.Sprintf("%s %s %s", c.Table, c.Key, row.Name))
					}
				}
			}
			fmt.Fprint(cmd.OutOrStdout(), "\n"+intervalMethods)
			if len(worse) > 0 {
				return worse
			}
			return nil
		},
	}
}

// intervalMethods says how intervals are got.
const intervalMethods = "Welch: Welch's t interval of two means over seeds.\n" +
	"binomial (where a row has one seed, or none vary): Newcombe's interval of two error rates on so many test images. It\n" +
	"takes the images of A and B for different ones, hence is wider than need be, and leaves out how much seeds vary.\n" +
	"none: the number of test images is not known, so nothing is decided; train with several seeds.\n"

// regression is the error of a comparison that finds rows worse than before. It has an exit status of its own.
type regression []string

// Error names the rows.
func (r regression) Error() string {
	return "worse beyond the interval: " + strings.Join(r, ", ")
}

// writeComparison prints two tables side by side.
func writeComparison(out io.Writer, c report.Comparison) error {
	fmt.Fprintf(out, "\n%s: errors in percent, differences and 95 %% intervals in percentage points\n", c.Table)
	if len(c.Rows) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "%s\tTRAIN A\tB\tB−A\tTEST A\tB\tB−A\tINTERVAL\tMETHOD\tVERDICT\n", strings.ToUpper(c.Key))
		for _, row := range c.Rows {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", row.Name, difference(row.Train), difference(row.Test), interval(row.Interval), row.Method, row.Verdict())
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("writing the comparison: %w", err)
		}
	}
	writeChanges(out, c.Rows)
	writeRows(out, "only in A: ", c.OnlyA)
	writeRows(out, "only in B: ", c.OnlyB)
	return nil
}

// writeChanges says once for all rows that share it in what else they differ.
func writeChanges(out io.Writer, rows []report.ComparedRow) {
	var texts []string
	names := map[string][]string{}
	for _, row := range rows {
		var changes []string
		for _, c := range row.Changes {
			changes = append(changes, fmt.Sprintf("%s %s → %s", c.Column, short(c.A), short(c.B)))
		}
		text := "changed: " + strings.Join(changes, ", ")
		if !row.Alike() {
			text = "warning: not of the same images or profile: " + strings.Join(changes, ", ")
		}
		if len(changes) > 0 && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		names[text] = append(names[text], row.Name)
	}
	for _, text := range texts {
		fmt.Fprintf(out, "%s (%s)\n", text, strings.Join(names[text], ", "))
	}
}

// writeRows lists rows that one table lacks, if there are any.
func writeRows(out io.Writer, which string, names []string) {
	if len(names) > 0 {
		fmt.Fprintln(out, which+strings.Join(names, ", "))
	}
}

// short is a value as people compare it: of a SHA-256 the beginning, and a dash for none.
func short(value string) string {
	switch {
	case value == "":
		return "–"
	case len(value) == 64:
		return value[:12] + "…"
	default:
		return value
	}
}

// difference prints a number in A, in B and the change, as three cells.
func difference(d report.Difference) string {
	return fmt.Sprintf("%s\t%s\t%s", orDash("%.2f", d.A), orDash("%.2f", d.B), orDash("%+.2f", d.Value()))
}

// interval prints an interval.
func interval(i report.Interval) string {
	if math.IsNaN(i.Low) {
		return "–"
	}
	return fmt.Sprintf("%+.2f to %+.2f", i.Low, i.High)
}

// orDash prints a number, and a dash for one that is not known.
func orDash(format string, number float64) string {
	if math.IsNaN(number) {
		return "–"
	}
	return fmt.Sprintf(format, number)
}
