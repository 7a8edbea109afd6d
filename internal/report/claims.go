package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
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

	study experiments.Study
	// inRegime says whether all of it was measured in the paper's regime.
	inRegime bool
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
	// P is the p value of the measurement against the claim, over seeds, and Holm the same corrected for all declared comparisons. Both
	// are NaN where nothing is judged.
	P, Holm float64
	// Verdict about the expectation. Where it is open, Why says why nothing is judged, if so, and ToDecide what would decide it.
	Verdict, Why, ToDecide string
	// seedsToDecide is the number of seeds in ToDecide; more than [stats.MostSeeds] where no number is known.
	seedsToDecide int
}

// PaperWithin says whether what the paper measured lies within the interval: "yes", "no", or "" where one of them is not known.
func (f Finding) PaperWithin() string { return f.Measured.Interval.Holds(f.Paper) }

// measured says whether anything was measured.
func (f Finding) measured() bool { return f.Measured.measured() }

// Claims measures and judges all claims of the suite in its order.
func (p *Profile) Claims() (rows []ClaimRow, err error) {
	for _, study := range p.suite {
		for _, claim := range study.Claims {
			row := ClaimRow{Claim: claim, Number: len(rows) + 1, study: study}
			for _, expectation := range claim.Expect {
				finding, err := p.measure(study, expectation)
				if err != nil {
					return nil, fmt.Errorf("claim %s: %w", claim.Name, err)
				}
				row.Findings = append(row.Findings, finding)
			}
			rows = append(rows, row)
		}
	}
	p.judgeFindings(rows)
	return rows, nil
}

// measure measures an expectation, as far as its runs are recorded.
func (p *Profile) measure(study experiments.Study, e experiments.Expectation) (f Finding, err error) {
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
	if dataset.OfThePaper(subject[0].Run.Dataset.Name) {
		f.Paper = p.paperValue(e, compared)
	}
	if !compared {
		f.Measured = overSeeds(subject.values(quantities[e.Quantity]))
		return f, nil
	}
	f.Seeds = min(len(subject), len(baseline))
	f.Measured, err = p.difference(study, e.Quantity, subject, baseline)
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

// measureDecodings measures a quantity of decodings: over seeds, or of a single one over the test images.
func (f *Finding) measureDecodings(subject, baseline Group, compared bool) {
	var values []float64    // of each seed
	var images stats.Sample // of the last one
	var otherImages *stats.Sample
	for _, r := range subject {
		of, ok := decodingSample(r, f.Subject.Block, f.Quantity)
		if !ok {
			continue
		}
		value, records := of.Mean, Group{r}
		if compared {
			i := slices.IndexFunc(baseline, func(b record.Record) bool { return b.Run.Seed == r.Run.Seed })
			if i < 0 {
				continue
			}
			other, ok := decodingSample(baseline[i], f.Baseline.Block, f.Quantity)
			if !ok {
				continue
			}
			value, otherImages = value-other.Mean, &other
			if baseline[i].ID != r.ID { // else both are blocks of one network
				records = append(records, baseline[i])
			}
		}
		images, values = of, append(values, value)
		f.Group, f.Images = append(f.Group, records...), r.Decodings.Images
	}
	f.Seeds = len(values)
	switch f.Seeds {
	case 0:
	case 1:
		f.Measured = overImages(images, otherImages)
	default:
		f.Measured = overSeeds(values)
	}
}

// decodingSample is a quantity of a block over the test images; ok is false where it was not measured.
func decodingSample(r record.Record, blockName string, quantity experiments.Quantity) (s stats.Sample, ok bool) {
	if r.Decodings == nil {
		return s, false
	}
	i := slices.IndexFunc(r.Decodings.Trained, func(f decode.Fidelity) bool { return f.Block == blockName })
	if i < 0 {
		return s, false
	}
	f := r.Decodings.Trained[i]
	switch quantity {
	case experiments.Cosine:
		s = stats.Sample{Mean: f.Cosine, Std: f.CosineStd, N: r.Decodings.Images}
	case experiments.ClassDifference:
		if f.Difference == nil || f.DifferenceStd == nil {
			return s, false
		}
		s = stats.Sample{Mean: *f.Difference, Std: *f.DifferenceStd, N: r.Decodings.Images}
	default:
		return s, false
	}
	return s, !math.IsNaN(s.Mean) && !math.IsNaN(s.Std)
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
// unit. It is claimed to lie between claimed_low and claimed_high, and the paper measured the number in paper; paper_within says whether
// that lies within the interval, which is at 95 %, by that method over so many (count) images or seeds. p_value is of the measurement over
// seeds against the claim, p_holm the same corrected for all declared comparisons, and mcnemar_p is of McNemar's test on the test images.
// verdict is the line's and claim_verdict the whole claim's; why says why nothing is judged, and to_decide what would decide it. Errors of
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
		{Name: "claimed_low", Cell: func(r ledgerRow) string { return bound(r.Low) }},
		{Name: "claimed_high", Cell: func(r ledgerRow) string { return bound(r.High) }},
		{Heading: "measured", Number: true, Cell: ledgerRow.withInterval},
		{Name: "paper", Cell: func(r ledgerRow) string { return percent(r.Paper) }},
		{Heading: "paper", Number: true, Cell: func(r ledgerRow) string { return r.inUnit(r.Paper) }},
		ofMeasured("measured", func(m Measured) string { return decimals(m.Value, 6) }),
		ofMeasured("interval_low", func(m Measured) string { return decimals(m.Interval.Low, 6) }),
		ofMeasured("interval_high", func(m Measured) string { return decimals(m.Interval.High, 6) }),
		ofMeasured("method", func(m Measured) string { return m.Method.String() }),
		ofMeasured("count", func(m Measured) string { return strconv.Itoa(m.Count) }),
		{Name: "paper_within", Heading: "paper in the interval", Cell: func(r ledgerRow) string { return r.PaperWithin() }},
		{Name: "p_value", Cell: func(r ledgerRow) string { return printP(r.P) }},
		{Name: "p_holm", Cell: func(r ledgerRow) string { return printP(r.Holm) }},
		ofMeasured("mcnemar_p", Measured.pValue),
		{Name: "verdict", Heading: "verdict", Cell: func(r ledgerRow) string { return r.Verdict }},
		{Heading: "method and p", Cell: ledgerRow.by},
		{Name: "why", Cell: func(r ledgerRow) string { return r.Why }},
		{Name: "to_decide", Cell: func(r ledgerRow) string { return r.ToDecide }},
		{Name: "claim_verdict", Cell: func(r ledgerRow) string { return r.claim.Verdict }},
		{Name: "says", Cell: func(r ledgerRow) string { return r.claim.Says }},
		{Name: "where", Cell: func(r ledgerRow) string { return r.claim.Where }},
	},
	placeColumns[ledgerRow](),
	Columns[ledgerRow]{{Name: "seeds", Cell: func(r ledgerRow) string { return counted(r.Seeds) }}}, // those of each side
	scaleColumns[ledgerRow](),
	Columns[ledgerRow]{
		{Name: "decoded_images", Cell: func(r ledgerRow) string { return counted(r.Images) }},
		{Name: "commit", Cell: func(r ledgerRow) string { return r.Commits() }},
	},
)

// ofMeasured is a column about the measurement, empty where there is none.
func ofMeasured(name string, cell func(Measured) string) Column[ledgerRow] {
	return Column[ledgerRow]{Name: name, Cell: func(r ledgerRow) string {
		if !r.measured() {
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
