package report

import (
	"fmt"
	"slices"
	"strings"

	"ebsscgo/experiments"
)

// sweepsMarkdown is the summary of a study of sweeps for reading, with the paper's numbers and the figures.
func sweepsMarkdown(profile string, study experiments.Study, summary []Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Sweeps of inference at profile `%s`: %s\n\n", profile, study.About)
	b.WriteString("| Sweeps | train objective | train err. | test err. | paper: test err. | fixed | broken | p | test err. against one sweep less |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for _, l := range summary {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", sweepsTitle(l["sweeps"]),
			withStd(l["train_objective"], l["train_objective_std"]), withStd(l["train_err"], l["train_err_std"]),
			withStd(l["test_err"], l["test_err_std"]), orDash(l["paper_test_err"]),
			orDash(l["fixed"]), orDash(l["broken"]), orDash(pText(l)), orDash(l["verdict"]))
	}
	b.WriteString("\n")
	for _, f := range sweepsFigures {
		fmt.Fprintf(&b, "![%s](%s.svg)\n", f.title, figurePath(study, f.suffix))
	}
	b.WriteString("\n")
	writeNotes(&b, slices.Concat(provenance(summary, func(l Line) string { return sweepsTitle(l["sweeps"]) }), sweepsNotes(summary)))
	return b.String()
}

// sweepsNotes say what the numbers are.
func sweepsNotes(summary []Line) []string {
	var alphas []string
	for _, l := range summary {
		if !slices.Contains(alphas, l["alpha"]) {
			alphas = append(alphas, l["alpha"])
		}
	}
	notes := []string{
		fmt.Sprintf("The training objective is Eq. (train_obj2) in nats with α = %s; errors are fractions. Both are of all images, without "+
			"dropout, after the last epoch; the figures' training objective is of the first training images.", strings.Join(alphas, " and ")),
		fmt.Sprintf("Fixed are the test images on which fewer seeds err than with one sweep less, broken those on which more do; p is of "+
			"McNemar's exact test of the two counts, and a difference is called one where it is below %g.", Significance),
	}
	if hasPaper(summary) {
		notes = append(notes, "The paper leaves the network of this study open: its numbers are of another one.")
	}
	return notes
}
