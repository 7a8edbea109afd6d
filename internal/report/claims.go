package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/record"
)

// Verdicts about a claim, and about each of its expectations.
const (
	Reproduced   = "reproduced"   // The whole interval lies within the claimed bounds.
	Contradicted = "contradicted" // The whole interval lies outside.
	Undecided    = "undecided"    // Neither, or nothing was measured.
)

// ClaimRow is a claim of the paper with what was measured for it.
type ClaimRow struct {
	experiments.Claim
	// Number in the ledger, from 1.
	Number int
	// Verdict about the claim: all its expectations must hold.
	Verdict string
	// Findings, one for each expectation.
	Findings []Finding
}

// Finding is an expectation of a claim with what was measured for it.
type Finding struct {
	experiments.Expectation
	// Group holds the records that the measurement rests on; it is empty where nothing was measured.
	Group
	// Measured is the quantity of the subject minus that of the baseline, or of the subject alone.
	Measured Measured
	// Seeds of each side, and Images that decodings were measured on; 0 for other quantities.
	Seeds, Images int
	// Paper is what the paper measured, NaN where it says nothing.
	Paper float64
	// Verdict about the expectation, and ToDecide, what would decide it where it is undecided.
	Verdict, ToDecide string
}

// Claims measures and judges all claims of the suite in its order.
func (p *Profile) Claims() (rows []ClaimRow, err error) {
	for _, study := range p.suite {
		for _, claim := range study.Claims {
			row := ClaimRow{Claim: claim, Number: len(rows) + 1}
			for _, expectation := range claim.Expect {
				finding, err := p.measure(expectation)
				if err != nil {
					return nil, fmt.Errorf("claim %s: %w", claim.Name, err)
				}
				finding.judge(p.command(study, ""))
				row.Findings = append(row.Findings, finding)
			}
			row.Verdict = conjunction(row.Findings)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// measure measures an expectation, as far as its runs are recorded.
func (p *Profile) measure(e experiments.Expectation) (f Finding, err error) {
	f = Finding{Expectation: e, Paper: math.NaN()}
	subject, baseline := p.Group(e.Subject.Experiment), p.Group(e.Baseline.Experiment)
	compared := e.Baseline != experiments.Source{}
	if len(subject) == 0 || compared && len(baseline) == 0 {
		return f, nil
	}
	if e.Subject.Block != "" {
		f.measureDecodings(subject, baseline, compared)
		return f, nil
	}
	if quantities[e.Quantity] == nil {
		return f, fmt.Errorf("%s is measured in a block: name one of %s in the declaration", e.Quantity, e.Subject)
	}
	f.Group, f.Seeds = slices.Concat(subject, baseline), len(subject)
	if besidePaper(subject[0].Run.Dataset) {
		f.Paper = p.paperValue(e, compared)
	}
	if !compared {
		f.Measured = alone(e.Quantity, subject)
		return f, nil
	}
	f.Seeds = min(len(subject), len(baseline))
	f.Measured, err = difference(e.Quantity, subject, baseline)
	return f, err
}

// paperValue is what the paper measured, NaN unless it has all numbers.
func (p *Profile) paperValue(e experiments.Expectation, compared bool) float64 {
	number := func(s experiments.Source) float64 {
		_, declared, _ := p.suite.Experiment(s.Experiment)
		switch e.Quantity {
		case experiments.TestErr:
			return known(declared.Paper.TestErr)
		case experiments.TrainErr:
			return known(declared.Paper.TrainErr)
		default:
			return math.NaN()
		}
	}
	if !compared {
		return number(e.Subject)
	}
	return number(e.Subject) - number(e.Baseline)
}

// measureDecodings measures a quantity of decodings over the test images.
func (f *Finding) measureDecodings(subject, baseline Group, compared bool) {
	of, ok := decodingSample(subject, f.Subject.Block, f.Quantity)
	if !ok {
		return
	}
	m := meanOf(of)
	if compared {
		other, ok := decodingSample(baseline, f.Baseline.Block, f.Quantity)
		if !ok {
			return
		}
		m = differenceOf(of, other)
	}
	r, _ := subject.decodedRecord()
	f.Measured, f.Group, f.Seeds, f.Images = m, Group{r}, 1, r.Decodings.Images
}

// decodingSample is a quantity of a block over the test images; ok is false where it was not measured.
func decodingSample(g Group, blockName string, quantity experiments.Quantity) (s Sample, ok bool) {
	r, ok := g.decodedRecord()
	if !ok {
		return s, false
	}
	i := slices.IndexFunc(r.Decodings.Trained, func(f decode.Fidelity) bool { return f.Block == blockName })
	if i < 0 {
		return s, false
	}
	f := r.Decodings.Trained[i]
	switch quantity {
	case experiments.Cosine:
		s = Sample{f.Cosine, f.CosineStd, r.Decodings.Images}
	case experiments.ClassDifference:
		if f.Difference == nil || f.DifferenceStd == nil {
			return s, false
		}
		s = Sample{*f.Difference, *f.DifferenceStd, r.Decodings.Images}
	default:
		return s, false
	}
	return s, !math.IsNaN(s.Mean) && !math.IsNaN(s.Std)
}

// judge sets the verdict. command measures what was not measured.
func (f *Finding) judge(command string) {
	m := f.Measured
	f.Verdict = Undecided
	switch {
	case m.Method == "":
		f.ToDecide = command
	case !m.Interval.known():
		f.ToDecide = m.toDecide(math.NaN())
	case m.Interval.Low > f.Low && m.Interval.High < f.High:
		f.Verdict = Reproduced
	case m.Interval.High <= f.Low || m.Interval.Low >= f.High:
		f.Verdict = Contradicted
	default:
		// Where both bounds lie within the interval, the nearer one is the harder to decide.
		f.ToDecide = m.toDecide(min(math.Abs(m.Value-f.Low), math.Abs(m.Value-f.High)))
	}
}

// conjunction is the verdict of a claim, all of whose expectations must hold.
func conjunction(findings []Finding) string {
	verdict := Reproduced
	for _, f := range findings {
		switch f.Verdict {
		case Contradicted:
			return Contradicted
		case Undecided:
			verdict = Undecided
		}
	}
	return verdict
}

// ledgerRow is a line of the ledger: a finding, with its claim.
type ledgerRow struct {
	Finding
	claim ClaimRow
	title func(experiment string) string
}

// ledgerColumns are those of claims.csv, a line for each expectation of each claim, see [experiments.Claim], and of the table of all
// measurements in claims.md. subject and baseline are experiments, with a block of theirs behind a slash; measured is the quantity of
// the subject minus that of the baseline, or of the subject itself where there is no baseline, in percentage points, nats, or without a
// unit. It is claimed to lie between low and high, and the paper measured the number in paper. The interval is at 95 %, by that method over
// so many (count) images or seeds; p_value is of [McNemar]'s test. verdict is the line's and claim_verdict the whole claim's; to_decide
// says what would decide it. Errors of
// training are of train_images, those of tests of test_images, and decodings are those of decoded_images.
var ledgerColumns = slices.Concat(
	Columns[ledgerRow]{
		{Heading: "No.", Number: true, Cell: func(r ledgerRow) string { return strconv.Itoa(r.claim.Number) }},
		{Name: "claim", Cell: func(r ledgerRow) string { return r.claim.Name }},
		{Name: "quantity", Heading: "Quantity", Cell: func(r ledgerRow) string { return string(r.Quantity) }},
		{Heading: "of", Cell: ledgerRow.sources},
		{Name: "subject", Cell: func(r ledgerRow) string { return r.Subject.String() }},
		{Name: "baseline", Cell: func(r ledgerRow) string { return r.Baseline.String() }},
		{Heading: "claimed", Cell: ledgerRow.claimed},
		{Name: "low", Cell: func(r ledgerRow) string { return bound(r.Low) }},
		{Name: "high", Cell: func(r ledgerRow) string { return bound(r.High) }},
		{Heading: "measured", Number: true, Cell: ledgerRow.withInterval},
		{Name: "paper", Cell: func(r ledgerRow) string { return percent(r.Paper) }},
		{Heading: "paper", Number: true, Cell: func(r ledgerRow) string { return r.inUnit(r.Paper) }},
		ofMeasured("measured", func(m Measured) string { return decimals(m.Value, 6) }),
		ofMeasured("interval_low", func(m Measured) string { return decimals(m.Interval.Low, 6) }),
		ofMeasured("interval_high", func(m Measured) string { return decimals(m.Interval.High, 6) }),
		ofMeasured("method", func(m Measured) string { return string(m.Method) }),
		ofMeasured("count", func(m Measured) string { return strconv.Itoa(m.Count) }),
		ofMeasured("p_value", Measured.pValue),
		{Name: "verdict", Heading: "verdict", Cell: func(r ledgerRow) string { return r.Verdict }},
		{Heading: "by", Cell: ledgerRow.by},
		{Name: "to_decide", Cell: func(r ledgerRow) string { return r.ToDecide }},
		{Name: "claim_verdict", Cell: func(r ledgerRow) string { return r.claim.Verdict }},
		{Name: "says", Cell: func(r ledgerRow) string { return r.claim.Says }},
		{Name: "where", Cell: func(r ledgerRow) string { return r.claim.Where }},
	},
	originColumns[ledgerRow]()[:4], // seeds are those of each side
	Columns[ledgerRow]{
		{Name: "seeds", Cell: func(r ledgerRow) string { return counted(r.Seeds) }},
		of[ledgerRow]("epochs", func(r record.Record) string { return strconv.Itoa(r.Run.Epochs) }),
		of[ledgerRow]("train_images", func(r record.Record) string { return strconv.Itoa(r.Run.TrainImages) }),
		of[ledgerRow]("test_images", func(r record.Record) string { return strconv.Itoa(r.Run.TestImages) }),
		{Name: "decoded_images", Cell: func(r ledgerRow) string { return counted(r.Images) }},
		{Name: "commit", Cell: func(r ledgerRow) string { return r.commits() }},
	},
)

// ofMeasured is a column about the measurement, empty where there is none.
func ofMeasured(name string, cell func(Measured) string) Column[ledgerRow] {
	return Column[ledgerRow]{Name: name, Cell: func(r ledgerRow) string {
		if r.Measured.Method == "" {
			return ""
		}
		return cell(r.Measured)
	}}
}

// counted writes a number, and nothing for 0.
func counted(number int) string {
	if number == 0 {
		return ""
	}
	return strconv.Itoa(number)
}

// bound writes a bound, and nothing for none.
func bound(value float64) string {
	if math.IsInf(value, 0) {
		return ""
	}
	return strconv.FormatFloat(value, 'g', 6, 64)
}
