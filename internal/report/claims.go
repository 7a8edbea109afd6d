package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/stats"
)

// Verdicts on a claim.
const (
	Agrees    = "agrees"
	Disagrees = "disagrees"
	Open      = "open"
)

// Verdict is what the records say of a claim, as docs/protocol.md declares.
type Verdict struct {
	experiments.Claim
	// Study that has the claim.
	Study experiments.Study
	// Estimates of the claim's expectations, in their order, and of what is measured beside them.
	Estimates, Beside []stats.Estimate
	// Word is the verdict, one of the constants; empty without one. Reason says why there is none.
	Word, Reason string
	// P is the claim's p value, corrected for the number of claims of the profile; NaN without a
	// verdict.
	P float64
}

// Claims judges the claims of all studies that have records: the paper's or, if ours is set, this
// project's. Each kind is corrected for its own number.
func (p *Results) Claims(ours bool) []Verdict { return p.judge(ours, false) }

// opened names those of the verdicts that would be open if test errors were judged over seeds and
// test images together: with other test images they might not hold.
func (p *Results) opened(verdicts []Verdict, ours bool) (names []string) {
	for i, v := range p.judge(ours, true) {
		if word := verdicts[i].Word; v.Word == Open && word != Open && word != "" {
			names = append(names, v.Name)
		}
	}
	return names
}

func (p *Results) judge(ours, overImages bool) (all []Verdict) {
	var values []float64 // 1 where there is no verdict, or no record
	for _, study := range catalogue.All.ForProfile(p.Profile) {
		for _, claim := range study.Claims {
			if claim.Ours == ours {
				values = append(values, 1)
			}
		}
	}
	for _, study := range p.Studies {
		for _, claim := range study.Claims {
			if claim.Ours != ours {
				continue
			}
			v := Verdict{Claim: claim, Study: study, Estimates: p.estimates(study, claim.Expect, overImages),
				Beside: p.estimates(study, claim.Beside, overImages), P: math.NaN()}
			if v.Reason = p.unjudged(v); v.Reason == "" {
				agree, disagree := v.pValues()
				v.Word = Disagrees
				if agree < disagree {
					v.Word = Agrees
				}
				values[len(all)] = min(1, 2*min(agree, disagree))
			}
			all = append(all, v)
		}
	}
	for i, corrected := range stats.Holm(values)[:len(all)] {
		if v := &all[i]; v.Reason == "" {
			v.P = corrected
			if corrected >= stats.Significance {
				v.Word = Open
			}
		}
	}
	return all
}

// unjudged says why a claim has no verdict; empty where it has one.
func (p *Results) unjudged(v Verdict) string {
	switch {
	case p.Demo:
		return "demo profile"
	case !v.Study.Images.Has(p.Datasets[v.Study.Images].Name):
		return "other images"
	}
	var needed []Row
	learned := true
	for _, e := range v.Expect {
		for _, term := range slices.Concat(p.pooled(v.Study, e, v.Expect)...) {
			needed = append(needed, p.rows[term.Experiment]) // the deviation comes from all of them
		}
		for _, term := range e.Terms {
			row := p.rows[term.Experiment]
			measured := len(row.quantities(e.Quantity, term))
			if measured == 0 || measured < len(row.Records) {
				return "not measured"
			}
			needed = append(needed, row)
			for _, r := range row.Records {
				learned = learned && r.Learned()
			}
		}
	}
	short := slices.DeleteFunc(needed,
		func(row Row) bool { return len(row.Records) >= row.Planned })
	switch {
	case len(short) > 0:
		return seeds(short...)
	case !learned:
		return "a run did not learn"
	case slices.ContainsFunc(v.Estimates, func(e stats.Estimate) bool { return !e.Known() }):
		return "no interval"
	}
	return ""
}

// pValues are those of agreement, in which all expectations hold (intersection–union of one-sided
// tests), and of disagreement, in which one is reversed: its value lies beyond one of its finite
// bounds (Bonferroni).
func (v Verdict) pValues() (agree, disagree float64) {
	disagree = 1
	for i, e := range v.Expect {
		measured, bounds := v.Estimates[i], 2
		if math.IsInf(e.Low, 0) || math.IsInf(e.High, 0) {
			bounds = 1
		}
		agree = max(agree, measured.Above(e.Low), measured.Below(e.High))
		disagree = min(disagree, float64(bounds*len(v.Expect))*min(measured.Below(e.Low),
			measured.Above(e.High)))
	}
	return agree, disagree
}

func (p *Results) claimsTable(verdicts []Verdict, ours bool) Table {
	says := "the paper says"
	if ours {
		says = "this project says"
	}
	t := Table{Columns: []Column{
		{Title: "claim", Kind: Code}, {Title: "verdict (corrected p)"}, {Title: says},
	}}
	for _, v := range verdicts {
		t.Rows = append(t.Rows, []Cell{text(v.Name), v.word(), text(v.words())})
	}
	t.Notes = []string{"A claim is open if chance can explain what was measured (p ≥ 0.05, " +
		"corrected for the number of claims)."}
	if opened := p.opened(verdicts, ours); len(opened) > 0 {
		t.Notes = append(t.Notes,
			"Verdicts are for these test images. With others these may be open: `"+
				strings.Join(opened, "`, `")+"`.")
	}
	return t
}

// word is the verdict for readers, or the reason why there is none.
func (v Verdict) word() Cell {
	if v.Word == "" {
		return text("– (" + v.Reason + ")")
	}
	word := fmt.Sprintf("%s (%s)", v.Word, formatted(v.P, "%.2g").human())
	return Cell{text: word, bold: v.Word != Open}
}

// words are the claim's, where it stands, and how words became numbers.
func (v Verdict) words() string {
	said := fmt.Sprintf("%s (%s).", strings.TrimSuffix(v.Says, "."), v.Where)
	if v.Reading != "" {
		said += " In numbers: " + v.Reading + "."
	}
	return said
}

// bounds says where a value is expected; nothing without bounds.
func bounds(low, high Cell) string {
	switch {
	case low.empty() && high.empty():
		return ""
	case low.empty():
		return "below " + high.human()
	case high.empty():
		return "above " + low.human()
	default:
		return low.human() + " to " + high.human()
	}
}

func (p *Results) expectationsTable(verdicts []Verdict) Table {
	t := Table{Name: "claims", Columns: []Column{
		{Title: "claim", Name: "claim", Kind: Code}, {Name: "study"}, {Title: "what"},
		{Name: "quantity"}, {Name: "contrast"},
		{Title: "measured (95 % interval)", Name: "measured", Kind: Interval},
		{Name: "n", Kind: Number}, {Title: "expected"},
		{Name: "low", Kind: Number}, {Name: "high", Kind: Number},
		{Name: "verdict"}, {Name: "reason"}, {Name: "corrected_p", Kind: Number},
	}}
	for _, v := range verdicts {
		estimates, planned := slices.Concat(v.Estimates, v.Beside), p.Scales[v.Study.Name].Seeds
		for i, e := range slices.Concat(v.Expect, v.Claim.Beside) {
			low, high := formatted(e.Low, "%.4g"), formatted(e.High, "%.4g")
			rows := contrast(e.Terms, catalogue.All.Title)
			t.Rows = append(t.Rows, []Cell{
				text(v.Name), text(v.Study.Name), text(e.Quantity.Name + ": " + rows),
				text(e.Quantity.Name), text(rows),
				interval(estimates[i], e.Quantity.Format).ofSeeds(estimates[i].N, planned),
				count(estimates[i].N), text(bounds(low, high)), low, high,
				text(v.Word), text(v.Reason), formatted(v.P, "%.2g"),
			})
		}
	}
	return t
}
