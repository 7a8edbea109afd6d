package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/stats"
)

// reportClaims adds claims.csv, and returns the ledger for reading. Where nothing was measured there is none.
func (p *Profile) reportClaims(out output) (d document, err error) {
	claims, err := p.Claims()
	if err != nil {
		return d, err
	}
	var lines []ledgerRow
	measured := false
	for _, claim := range claims {
		for _, finding := range claim.Findings {
			lines = append(lines, ledgerRow{finding, claim, p.suite.Title})
			measured = measured || finding.measured()
		}
	}
	if !measured {
		return d, nil
	}
	out[claimsCSV] = ledgerColumns.CSV(lines)
	return p.claimsDocument(claims, lines), nil
}

// claimsDocument is the ledger for reading: first claim by claim, then each measurement of the claims that were measured.
func (p *Profile) claimsDocument(claims []ClaimRow, lines []ledgerRow) document {
	summary := Columns[ClaimRow]{
		{Heading: "No.", Number: true, Cell: func(c ClaimRow) string { return strconv.Itoa(c.Number) }},
		{Heading: "The paper says", Cell: func(c ClaimRow) string { return fmt.Sprintf("%s (%s)", c.Says, c.Where) }},
		{Heading: "Measured here", Cell: func(c ClaimRow) string { return c.sum(p.suite.Title) }},
		{Heading: "Verdict", Cell: func(c ClaimRow) string { return c.Verdict }},
	}
	unmeasured := func(c ClaimRow) bool { return !slices.ContainsFunc(c.Findings, Finding.measured) }
	lines = slices.DeleteFunc(slices.Clone(lines), func(l ledgerRow) bool { return unmeasured(l.claim) })
	heading := "What the paper claims, and what was measured"
	return document{
		name: strings.TrimSuffix(ClaimsFile, ".md"), title: fmt.Sprintf("%s at profile `%s`", heading, p.Name), heading: heading, score: Score(claims),
		blocks: []block{{table: summary.table(claims)}, {title: "Each measurement", table: ledgerColumns.table(lines),
			notes: slices.Concat(readings(slices.DeleteFunc(slices.Clone(claims), unmeasured)), claimsNotes, claimsProvenance(lines))}},
	}
}

// Score sums up the verdicts in a line. What is reproduced agrees, and what is contradicted disagrees.
func Score(claims []ClaimRow) string {
	count := map[string]int{}
	unmeasured := 0
	var inRegime []string
	for _, claim := range claims {
		count[claim.Verdict]++
		if !slices.ContainsFunc(claim.Findings, Finding.measured) {
			unmeasured++
		} else if claim.inRegime {
			inRegime = append(inRegime, strconv.Itoa(claim.Number))
		}
	}
	are := func(number int, one, several string) string {
		return fmt.Sprintf("%d %s", number, verb(number, one, several))
	}
	score := fmt.Sprintf("Of %d claims of the paper, %s, %s and %s at this scale", len(claims), are(count[Agrees]+count[Reproduced], "agrees", "agree"),
		are(count[Disagrees]+count[Contradicted], "disagrees", "disagree"), are(count[Open], "is open", "are open"))
	if unmeasured > 0 {
		score += fmt.Sprintf(" (%d of these not measured)", unmeasured)
	}
	if len(inRegime) > 0 {
		return fmt.Sprintf("%s; %s %s measured in the paper's regime.", score, verb(len(inRegime), "claim", "claims"),
			strings.Join(inRegime, ", ")+verb(len(inRegime), " was", " were"))
	}
	return fmt.Sprintf("%s, none of them in the paper's regime (its width, %d seeds, training errors like its own).", score, leastSeeds)
}

// sum sums up what was measured for a claim: how many of its expectations hold, and the one that decides.
func (c ClaimRow) sum(title func(string) string) string {
	count := map[string]int{}
	for _, f := range c.Findings {
		count[f.Verdict]++
	}
	holding, failing := count[Agrees]+count[Reproduced], count[Disagrees]+count[Contradicted]
	deciding := ledgerRow{c.deciding(), c, title}
	if !deciding.measured() {
		return fmt.Sprintf("not measured: `%s`", deciding.ToDecide)
	}
	var text string
	switch all := len(c.Findings); {
	case all == 1:
	case holding == all:
		text = fmt.Sprintf("all %d hold; ", all)
	case deciding.Verdict == Open:
		text = share(holding, all, "is settled", "are settled") + "; "
	default:
		parts := []string{fmt.Sprintf("%d %s", failing, verb(failing, "fails", "fail"))}
		if holding > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", holding, verb(holding, "holds", "hold")))
		}
		if open := count[Open]; open > 0 {
			parts = append(parts, fmt.Sprintf("%d %s open", open, verb(open, "is", "are")))
		}
		text = fmt.Sprintf("of %d, %s; ", all, strings.Join(parts, ", "))
	}
	text += fmt.Sprintf("%s of %s: %s", deciding.Quantity, deciding.sources(), deciding.withInterval())
	if paper := deciding.inUnit(deciding.Paper); paper != "" {
		text += ", in the paper " + paper
	}
	if deciding.Verdict == Open {
		text += "; " + deciding.open()
		if deciding.Why == "" && deciding.outside() > 0 {
			text += ", against the claim"
		}
	}
	return text
}

// deciding is the finding that the claim's verdict hangs on most: of those with this verdict, one that was measured, and farthest from what
// is claimed. An open claim is decided by the first prediction whose opposite is confirmed, or else by the last one that is confirmed.
func (c ClaimRow) deciding() Finding {
	same := c.findings(func(f Finding) bool { return f.Verdict == c.Verdict })
	bySeeds := func(a, b Finding) int { return cmp.Compare(a.seedsToDecide, b.seedsToDecide) }
	judged := c.findings(func(f Finding) bool { return f.Verdict == Open && f.Why == "" })
	against := c.findings(func(f Finding) bool { return f.Verdict == Open && f.Why == "" && f.outside() > 0 })
	switch {
	case c.Verdict == Open && len(against) > 0:
		return slices.MinFunc(against, bySeeds)
	case c.Verdict == Open && len(judged) > 0:
		return slices.MaxFunc(judged, bySeeds)
	default:
		return slices.MaxFunc(same, func(a, b Finding) int { return cmp.Compare(a.outside(), b.outside()) })
	}
}

// findings are those of the claim of which something is true.
func (c ClaimRow) findings(is func(Finding) bool) []Finding {
	return slices.DeleteFunc(slices.Clone(c.Findings), func(f Finding) bool { return !is(f) })
}

// outside is how far the measured value lies on the wrong side of a claimed bound: negative between the bounds, −∞ where nothing was
// measured.
func (f Finding) outside() float64 {
	if !f.measured() {
		return math.Inf(-1)
	}
	return max(f.Low-f.Measured.Value, f.Measured.Value-f.High)
}

// open says why a line is open, and what would decide it.
func (r ledgerRow) open() string {
	if r.Why == "" {
		return r.ToDecide + " would decide it"
	}
	return fmt.Sprintf("%s (to judge it: %s)", r.Why, r.ToDecide)
}

// share says of how many of all something is true: "none of 4 is settled", "3 of 4 hold".
func share(some, all int, one, several string) string {
	if some == 0 {
		return fmt.Sprintf("none of %d %s", all, one)
	}
	return fmt.Sprintf("%d of %d %s", some, all, verb(some, one, several))
}

// verb is the form that agrees with a number: one or several.
func verb(number int, one, several string) string {
	if number == 1 {
		return one
	}
	return several
}

// claimsNotes say how verdicts come about.
var claimsNotes = []string{
	"A claim agrees if each of its predictions is confirmed with p below 0.05, after Holm's correction for all comparisons that claims declare, " +
		"measured or not. It disagrees if the opposite of any prediction is confirmed. Otherwise it is open. These words are about the direction at this scale. The words " +
		fmt.Sprintf("reproduced and contradicted are for the paper's regime: each network that a claim rests on has the paper's width, %d seeds and a "+
			"training error of the paper's order (at most %d %%, on MNIST %d %%). The paper describes neither the network nor the images of its sweeps, "+
			"so claims about them never get these words.", leastSeeds, experiments.CIFARRegime, experiments.MNISTRegime),
	"p is over seeds. Adding seeds until a verdict suits makes p too small, so a profile sets their least number, and rows with fewer are not judged. " +
		fmt.Sprintf("From %d seeds on the test is Welch's. Where a profile has one seed, the deviation is pooled over the rows that have several, at this "+
			"scale or the next smaller one, as the method says: that takes all these rows to vary as much. Where there are none, or Bartlett's test "+
			"tells their deviations apart, nothing is judged. "+
			"Decodings are judged over seeds of the network. Seeds share image orders (docs/studies.md, Records), so they may vary less than they should.",
			leastSeeds),
	"Only results on CIFAR-10 (official images or the JPEG copy) and MNIST are judged, and only of networks that have learned: their errors are at " +
		"most half of chance. At profile smoke nothing is judged.",
	"Intervals are at 95 %, without the correction. Over seeds they, and p, are for these images and leave out how much others would vary. " +
		"Over images they leave out how much seeds vary: of test errors that is Bonett and Price's interval, of train errors " +
		"Newcombe's, of decodings Student's or Welch's. The number of seeds that would decide " +
		fmt.Sprintf("does so with a chance of %.0f %% if the measured value is the true one.", 100*stats.Power),
}

// readings say how words of the paper became numbers.
func readings(claims []ClaimRow) (notes []string) {
	for _, claim := range claims {
		if claim.Reading != "" {
			notes = append(notes, fmt.Sprintf("Claim %d is read as: %s.", claim.Number, claim.Reading))
		}
	}
	return notes
}

// claimsProvenance says how the measured runs were trained.
func claimsProvenance(lines []ledgerRow) []string {
	var runs []provenance
	for _, l := range lines {
		if len(l.Group) > 0 {
			runs = append(runs, provenance{l.Group, l.Seeds, fmt.Sprintf("claim %d", l.claim.Number)})
		}
	}
	return provenanceNotes(runs)
}

// claimed are the bounds of a line.
func (r ledgerRow) claimed() string {
	switch {
	case math.IsInf(r.Low, -1):
		return "below " + r.inUnit(r.High)
	case math.IsInf(r.High, 1):
		return "above " + r.inUnit(r.Low)
	default:
		return r.inUnit(r.Low) + " to " + r.inUnit(r.High)
	}
}

// sources name the subject and the baseline as the paper does.
func (r ledgerRow) sources() string {
	name := func(s experiments.Source) string {
		if s.Block == "" {
			return r.title(s.Experiment)
		}
		return r.title(s.Experiment) + ", " + s.Block
	}
	if r.Baseline == (experiments.Source{}) {
		return name(r.Subject)
	}
	return name(r.Subject) + " minus " + name(r.Baseline)
}

// withInterval is the measured value with its interval, where one is known.
func (r ledgerRow) withInterval() string {
	m := r.Measured
	if !m.measured() {
		return ""
	}
	text := r.inUnit(m.Value) + r.Quantity.Unit()
	if m.Interval.Known() {
		text += " (" + r.inUnit(m.Interval.Low) + " to " + r.inUnit(m.Interval.High) + ")"
	}
	return text
}

// inUnit prints a value of the line's quantity, and nothing for NaN.
func (r ledgerRow) inUnit(value float64) string {
	switch {
	case math.IsNaN(value):
		return ""
	case value == 0:
		return "0"
	default:
		return minus(r.Quantity.Format(value))
	}
}

// by says which method gave the interval, and what would decide the line.
func (r ledgerRow) by() string {
	var parts []string
	if r.measured() && r.Measured.Method != MethodNone {
		parts = append(parts, r.Measured.Method.Text(r.Measured.Count))
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"p", r.P}, {"Holm", r.Holm}} {
		if text := printP(p.value); strings.HasPrefix(text, "<") {
			parts = append(parts, p.name+" < "+text[1:])
		} else if text != "" {
			parts = append(parts, p.name+" = "+text)
		}
	}
	if r.Verdict == Open {
		parts = append(parts, r.open())
	}
	return strings.Join(parts, "; ")
}
