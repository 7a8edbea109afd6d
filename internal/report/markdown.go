package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
)

// markdown is a table of rows, each beside the one that it differs from, and the paper's numbers, with the figures drawn of it.
func markdown(profile string, study experiments.Study, table []Line, drawn map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s, at profile `%s`\n\n", study.Name, study.About, profile)
	b.WriteString("| Model | train err. % | test err. % | test err. less that of | by (95 % interval) | # params | paper: train | test | # params |\n")
	b.WriteString("|---|---:|---:|---|---:|---:|---:|---:|---:|\n")
	for _, l := range table {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", title(l["experiment"]),
			withStd(l["train_err"], l["train_err_std"]), withStd(l["test_err"], l["test_err_std"]), orDash(title(l["base"])), deltaText(l),
			millions(l["params"]), orDash(l["paper_train_err"]), orDash(l["paper_test_err"]), orDash(l["paper_params"]))
	}
	b.WriteString("\n")
	for _, suffix := range slices.Sorted(maps.Keys(drawn)) {
		fmt.Fprintf(&b, "![%s](%s.svg)\n", drawn[suffix], figurePath(study, suffix))
	}
	b.WriteString("\n")
	notes := append(provenance(table, func(l Line) string { return title(l["experiment"]) }),
		"The interval of a single seed is that of the test images (Bonett and Price, paired); how much seeds vary it does not know.")
	if profile != "paper" && hasPaper(table) {
		notes = append(notes, "The paper's numbers are of its full width, all 50,000 official images and training to convergence; "+
			"this profile is smaller, so compare the rows with one another, not with the paper's columns.")
	}
	writeNotes(&b, notes)
	return b.String()
}

// deltaText prints the difference to a row's base, with its interval.
func deltaText(l Line) string {
	if l["delta_base"] == "" {
		return orDash("")
	}
	text := l["delta_base"]
	if l["delta_base_low"] != "" {
		text += " (" + l["delta_base_low"] + " to " + l["delta_base_high"] + ")"
	}
	return strings.ReplaceAll(text, "-", "−")
}

// provenanceOf says how a line was got, but for its seconds.
func provenanceOf(l Line) string {
	return fmt.Sprintf("%s (SHA-256 %.12s…), profile `%s`, %s epochs, %s seed(s), backend %s, commit %s",
		dataset.Title(l["dataset"]), l["dataset_sha256"], l["profile"], l["epochs"], l["seeds"], l["backend"], l["commit"])
}

// provenance says how the lines were got, once for all lines that share it. name is what a line is about.
func provenance(lines []Line, name func(Line) string) (texts []string) {
	var names [][]string
	for _, l := range lines {
		text := provenanceOf(l)
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

// pText is a line's p value for reading, empty where it has none.
func pText(l Line) string {
	if l["p_value"] == "0" {
		return "< 1e-300" // less than a float64 holds
	}
	return l["p_value"]
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
