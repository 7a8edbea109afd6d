package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ebsscgo/experiments"
)

// claimsMarkdown is the ledger for reading: first claim by claim, then all that was measured for them.
func claimsMarkdown(profile string, lines []Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What the paper claims, and what was measured at profile `%s`\n\n", profile)
	b.WriteString("| | The paper says | Measured here | Verdict |\n|---:|---|---|---|\n")
	for i, claim := range experiments.Claims {
		ofClaim := inOrder(lines, "claim", []string{claim.Name})
		fmt.Fprintf(&b, "| %d | %s (%s) | %s | %s |\n", i+1, claim.Says, claim.Where, finding(ofClaim), ofClaim[0]["claim_verdict"])
	}
	b.WriteString("\n## Each measurement\n\n")
	b.WriteString("| | Quantity | of | claimed | measured | paper | verdict | by |\n|---:|---|---|---|---:|---:|---|---|\n")
	for i, claim := range experiments.Claims {
		for _, l := range inOrder(lines, "claim", []string{claim.Name}) {
			fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s |\n", i+1, l["quantity"], subjects(l), claimed(l),
				orDash(withInterval(l)), orDash(inUnit(l, "paper")), l["verdict"], by(l))
		}
	}
	b.WriteString("\n")
	writeNotes(&b, slices.Concat(readings(), claimsNotes, claimsProvenance(lines)))
	return b.String()
}

// finding sums up what was measured for a claim: how many of its expectations hold, and the one that decides.
func finding(lines []Line) string {
	holding := len(inOrder(lines, "verdict", []string{Reproduced}))
	deciding := findIn(lines, "verdict", lines[0]["claim_verdict"])
	if deciding["measured"] == "" {
		return fmt.Sprintf("not measured: `%s`", deciding["to_decide"])
	}
	var text string
	switch {
	case len(lines) == 1:
	case holding == len(lines):
		text = fmt.Sprintf("all %d hold; ", holding)
	case deciding["verdict"] == Open:
		text = fmt.Sprintf("%d of %d are decided; ", holding, len(lines))
	default:
		text = fmt.Sprintf("%d of %d hold; ", holding, len(lines))
	}
	text += fmt.Sprintf("%s of %s: %s", deciding["quantity"], subjects(deciding), withInterval(deciding))
	if deciding["paper"] != "" {
		text += ", in the paper " + inUnit(deciding, "paper")
	}
	if deciding["to_decide"] != "" {
		text += "; " + deciding["to_decide"] + " would decide it"
	}
	return text
}

// claimsNotes say how verdicts come about.
var claimsNotes = []string{
	"A claim is reproduced if all that it predicts is: the whole 95 % interval lies within what is claimed. It is contradicted if one " +
		"interval lies outside, and else undecided. The number of seeds or images that would decide it assumes that what was measured " +
		"is what there is.",
	"Test errors of a single seed are compared on the same test images (interval of Bonett and Price; p of McNemar's exact test), train " +
		"errors by Newcombe's interval. Neither knows how much seeds vary: another seed may decide otherwise. With several seeds the " +
		"interval is Welch's over seeds. Decodings are compared over test images. Of 20 comparisons that differ by chance alone, about " +
		"one is called different.",
	"A claim holds or falls here at this profile's scale, in images, width and epochs, not at the paper's.",
}

// readings say how words of the paper became numbers.
func readings() (notes []string) {
	for i, claim := range experiments.Claims {
		if claim.Reading != "" {
			notes = append(notes, fmt.Sprintf("%d is read as: %s.", i+1, claim.Reading))
		}
	}
	return notes
}

// claimsProvenance says how what was measured was got.
func claimsProvenance(lines []Line) (notes []string) {
	var subjects [][]string
	for _, l := range lines {
		if l["measured"] == "" {
			continue
		}
		note := provenanceOf(l)
		i := slices.Index(notes, note)
		if i < 0 {
			i = len(notes)
			notes, subjects = append(notes, note), append(subjects, nil)
		}
		if !slices.Contains(subjects[i], l["claim"]) {
			subjects[i] = append(subjects[i], l["claim"])
		}
	}
	for i := range notes {
		notes[i] += ": " + strings.Join(subjects[i], ", ") + "."
	}
	return notes
}

// subjectTitle names what a quantity is measured of, as the paper does.
func subjectTitle(subject string) string {
	name, block, _ := strings.Cut(subject, "/")
	text := title(name)
	if block != "" {
		text += ", " + block
	}
	return text
}

// claimed are the bounds of a line.
func claimed(l Line) string {
	switch low, high := l["low"], l["high"]; {
	case low == "":
		return "below " + inUnit(l, "high")
	case high == "":
		return "above " + inUnit(l, "low")
	default:
		return inUnit(l, "low") + " to " + inUnit(l, "high")
	}
}

// subjects are what a line's quantity is of, and less that of what.
func subjects(l Line) string {
	if l["beside"] == "" {
		return subjectTitle(l["of"])
	}
	return subjectTitle(l["of"]) + " less that of " + subjectTitle(l["beside"])
}

// units are those of the quantities that have one.
var units = map[experiments.Quantity]string{experiments.TestErr: " points", experiments.TrainErr: " points", experiments.TrainObjective: " nats"}

// withInterval prints what was measured, with its interval where one is known.
func withInterval(l Line) string {
	if l["measured"] == "" {
		return ""
	}
	text := inUnit(l, "measured") + units[experiments.Quantity(l["quantity"])]
	if l["interval_low"] != "" {
		text += " (" + inUnit(l, "interval_low") + " to " + inUnit(l, "interval_high") + ")"
	}
	return text
}

// inUnit prints the number in a column with as many digits as its quantity has.
func inUnit(l Line, column string) string {
	value := l.Number(column)
	if math.IsNaN(value) {
		return ""
	}
	format := map[experiments.Quantity]string{
		experiments.TestErr: "%.2f", experiments.TrainErr: "%.2f", experiments.TrainObjective: "%.4f", experiments.Cosine: "%.3f",
	}[experiments.Quantity(l["quantity"])]
	if format == "" || value == 0 {
		format = "%.3g"
	}
	return strings.ReplaceAll(fmt.Sprintf(format, value), "-", "−")
}

// by says how a line's interval was got, and what would decide it.
func by(l Line) string {
	var parts []string
	if name, counted, ok := strings.Cut(l["method"], ", "); ok {
		parts = append(parts, fmt.Sprintf("%s, %s %s", name, l["count"], counted))
	}
	switch p := pText(l); {
	case p == "":
	case strings.HasPrefix(p, "<"):
		parts = append(parts, "p "+p)
	default:
		parts = append(parts, "p = "+p)
	}
	if l["to_decide"] != "" {
		parts = append(parts, "to decide: "+l["to_decide"])
	}
	return orDash(strings.Join(parts, "; "))
}
