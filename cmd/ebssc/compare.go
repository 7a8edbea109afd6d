package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ebsscgo/internal/report"
	"ebsscgo/internal/study"
)

func compareCommand(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B",
		Short: "Compare results row by row; exit status 3 if a row of B is worse than in A, beyond the interval",
		Long: "Compare the records of two folders of one profile (results/quick), row by row.\n\n" +
			"Exit status: 3 if a row's test error is higher in B, beyond the interval of the difference; else 0; 1 for an error.\n" +
			"Rows that only one folder has are listed, and rows of different data sets or settings are not compared; neither is an\n" +
			"error, but to have no row in common is.\n\n" +
			"Intervals are at 95 % for each row: of 40 rows that differ by chance alone, about one is called worse.\n\n" + strings.TrimSpace(intervalMethods),
		Example: "  ebssc compare results/quick /tmp/mine/quick",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			comparisons, err := report.Compare(args[0], args[1], study.Suite)
			if err != nil {
				return err
			}
			text := fmt.Sprintf("A: %s\nB: %s\n", args[0], args[1])
			for _, c := range comparisons {
				text += "\n" + c.Text()
			}
			if _, err := fmt.Fprint(stdout, text+"\n"+intervalMethods); err != nil {
				return err
			}
			if worse := report.WorseRows(comparisons); len(worse) > 0 {
				return regression(worse)
			}
			return nil
		},
	}
}

// intervalMethods explains the intervals.
const intervalMethods = "Welch: Welch's t interval of two means over seeds.\n" +
	"Bonett-Price (one seed, the same in A and B): their interval for two models on the same test images.\n" +
	"Newcombe (otherwise): the interval of two error rates. It takes the test images of A and B for different ones, so it is\n" +
	"wider than necessary. The last two leave out how much seeds vary.\n"

// regression is the error of a comparison that finds rows worse than before. It has an exit status of its own.
type regression []string

// Error names the rows.
func (r regression) Error() string {
	return "worse beyond the interval: " + strings.Join(r, ", ")
}
