package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/experiments/data"
)

// markdown is the paper's table with ours beside it.
func markdown(profile string, table []Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Table 2 at profile `%s`\n\n", profile)
	b.WriteString("| Model | train err. % | test err. % | # params | paper: train | paper: test | paper: # params |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|\n")
	for _, l := range table {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", title(l["experiment"]),
			withStd(l["train_err"], l["train_err_std"]), withStd(l["test_err"], l["test_err_std"]), millions(l["params"]),
			orDash(l["paper_train_err"]), orDash(l["paper_test_err"]), orDash(l["paper_params"]))
	}
	b.WriteString("\n")
	notes := provenance(table, func(l Line) string { return title(l["experiment"]) })
	if profile != "paper" && hasPaper(table) {
		notes = append(notes, "The paper's numbers are of its full width, all 50,000 official images and training to convergence; "+
			"this profile is smaller, so compare the rows with one another, not with the paper's columns.")
	}
	writeNotes(&b, notes)
	return b.String()
}

// provenance says how the lines were got, once for all lines that share it. name is what a line is about.
func provenance(lines []Line, name func(Line) string) (texts []string) {
	var names [][]string
	for _, l := range lines {
		text := fmt.Sprintf("%s (SHA-256 %.12s…), profile `%s`, %s epochs, %s seed(s), backend %s, commit %s",
			data.Title(l["dataset"]), l["dataset_sha256"], l["profile"], l["epochs"], l["seeds"], l["backend"], l["commit"])
		i := slices.Index(texts, text)
		if i < 0 {
			i = len(texts)
			texts, names = append(texts, text), append(names, nil)
		}
		names[i] = append(names[i], fmt.Sprintf("%s in %s s", name(l), l["seconds"]))
	}
	for i := range texts {
		texts[i] = texts[i] + ": " + strings.Join(names[i], ", ") + "."
	}
	return texts
}

// hasPaper says whether a number of the paper stands in one of the lines.
func hasPaper(lines []Line) bool {
	return slices.ContainsFunc(lines, func(l Line) bool { return l["paper_test_err"] != "" })
}

// writeNotes writes a list.
func writeNotes(b *strings.Builder, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(b, "- %s\n", note)
	}
}

// title is a row as the paper writes it.
func title(experiment string) string {
	if _, e, ok := experiments.StudyOf(experiment); ok {
		return e.Title
	}
	return experiment
}

func withStd(mean, std string) string {
	if std == "" {
		return mean
	}
	return mean + " ± " + std
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// millions prints a parameter count as the paper does, with the exact one where a tenth of a million says little.
func millions(count string) string {
	n, err := strconv.ParseFloat(count, 64)
	if err != nil {
		return count
	}
	if n < 1e6 {
		return count
	}
	return strconv.FormatFloat(math.Round(n/1e5)/10, 'f', 1, 64) + "M"
}
