package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/files"
	"ebsscgo/internal/table"
)

// claimsLayout is that of claims.csv, the ledger: a line for each expectation of each claim, see [experiments.Claim]. of and
// beside are experiments, with a block of theirs behind a slash; measured is the quantity of one less that of the other, or
// the quantity itself where beside is empty, in percentage points, nats, or without a unit. It is claimed to lie between low
// and high, and the paper measured the number in paper. The interval is at 95 %, by that method over so many (count) images or
// seeds; p_value is of [McNemar]'s test. verdict is the line's and claim_verdict the whole claim's; to_decide is what it would
// take where it is undecided. Errors of training are of train_images, those of tests and decodings of test_images.
var claimsLayout = table.Layout{Keys: 4, Columns: []string{
	"claim", "quantity", "of", "beside", "low", "high", "paper", "measured", "interval_low", "interval_high", "method", "count", "p_value",
	"verdict", "to_decide", "claim_verdict", "says", "where",
	"dataset", "dataset_sha256", "profile", "backend", "seeds", "epochs", "train_images", "test_images", "commit",
}}

// What is known of a claim.
const (
	Reproduced   = "reproduced"   // What is claimed holds for the whole interval.
	Contradicted = "contradicted" // It holds nowhere in the interval.
	Open         = "undecided"    // Neither, or it was not measured.
)

// ClaimsFile is the name of the ledger for reading, in a profile's folder.
const ClaimsFile = "claims.md"

// writeClaims writes the ledger, claims.csv and claims.md. What was not measured by recorded runs stays as it was. Where
// nothing ever was, it writes nothing.
func writeClaims(folder, profile string, groups []Group) error {
	path := filepath.Join(folder, "claims.csv")
	old, err := claimsLayout.Read(path)
	if err != nil {
		return err
	}
	decodings, err := readDecodings(folder)
	if err != nil {
		return err
	}
	ledger := ledger{groups, decodings}
	var lines []Line
	measured := len(old) > 0
	for _, claim := range experiments.Claims {
		var ofClaim []Line
		for _, expectation := range claim.Expect {
			l, err := ledger.line(claim, expectation)
			if err != nil {
				return fmt.Errorf("claim %s: %w", claim.Name, err)
			}
			if l["measured"] == "" {
				l = keep(old, l)
			}
			measured = measured || l["measured"] != ""
			judge(l, expectation)
			ofClaim = append(ofClaim, l)
		}
		for _, l := range ofClaim {
			l["claim_verdict"] = conjunction(ofClaim)
		}
		lines = append(lines, ofClaim...)
	}
	if !measured {
		return nil
	}
	if err := claimsLayout.Write(path, lines); err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, ClaimsFile), []byte(claimsMarkdown(profile, lines)))
}

// ledger is what claims are measured by.
type ledger struct {
	groups    []Group
	decodings map[experiments.Subject]Line
}

// line is the line of an expectation, measured if that can be done.
func (g ledger) line(claim experiments.Claim, e experiments.Expectation) (Line, error) {
	l := Line{}
	m, ok := Measured{}, false
	var err error
	if e.Of.Block != "" {
		m, ok = g.decoded(e, l)
	} else {
		m, ok, err = g.trained(e, l)
	}
	if err != nil {
		return nil, err
	}
	if ok {
		l["measured"], l["interval_low"], l["interval_high"] = decimals(m.Value, 6), decimals(m.Interval.Low, 6), decimals(m.Interval.High, 6)
		l["method"], l["count"] = string(m.Method), strconv.Itoa(m.Count)
		l["p_value"] = pValue(m.P)
	}
	l["claim"], l["says"], l["where"] = claim.Name, claim.Says, claim.Where
	l["quantity"], l["of"], l["beside"] = string(e.Quantity), subject(e.Of), subject(e.Beside)
	l["low"], l["high"] = bound(e.Low), bound(e.High)
	return l, nil
}

// trained measures what recorded runs have, and says in a line how they were got; ok is false where they cannot be compared.
func (g ledger) trained(e experiments.Expectation, l Line) (m Measured, ok bool, err error) {
	of, beside := Latest(g.groups, e.Of.Experiment), Latest(g.groups, e.Beside.Experiment)
	if of == nil || beside == nil || !alike(of, beside) {
		return Measured{}, false, nil
	}
	m, err = difference(e.Quantity, of, beside)
	if err != nil {
		return Measured{}, false, err
	}
	both := origin(slices.Concat(of, beside))
	for _, column := range []string{"dataset", "dataset_sha256", "profile", "backend", "epochs", "train_images", "test_images", "commit"} {
		l[column] = both[column]
	}
	l["seeds"] = strconv.Itoa(min(len(of), len(beside)))
	if claimed, ok := paperDifference(e); ok && !strings.HasPrefix(l["dataset"], dataset.MNIST32Name) {
		l["paper"] = percent(claimed)
	}
	return m, true, nil
}

// paperDifference is what the paper measured, where it has both numbers.
func paperDifference(e experiments.Expectation) (value float64, known bool) {
	number := func(s experiments.Subject) float64 {
		_, declared, _ := experiments.StudyOf(s.Experiment)
		switch e.Quantity {
		case experiments.TestErr:
			return declared.Paper.TestErr
		case experiments.TrainErr:
			return declared.Paper.TrainErr
		default:
			return 0
		}
	}
	of, beside := number(e.Of), number(e.Beside)
	return of - beside, of != 0 && beside != 0
}

// decoded measures what decoding.csv has.
func (g ledger) decoded(e experiments.Expectation, l Line) (m Measured, ok bool) {
	column := map[experiments.Quantity]string{experiments.Cosine: "cosine", experiments.ClassDifference: "difference"}[e.Quantity]
	of, ok := decodingSample(g.decodings[e.Of], column)
	if !ok {
		return Measured{}, false
	}
	m = meanOf(of)
	if e.Beside != (experiments.Subject{}) {
		beside, ok := decodingSample(g.decodings[e.Beside], column)
		if !ok {
			return Measured{}, false
		}
		m = differenceOf(of, beside)
	}
	source := g.decodings[e.Of]
	for _, column := range []string{"dataset", "dataset_sha256", "profile", "backend", "seeds", "epochs", "commit"} {
		l[column] = source[column]
	}
	l["test_images"] = source["images"]
	return m, true
}

// readDecodings reads what was measured on decodings of trained networks, by experiment and block.
func readDecodings(folder string) (map[experiments.Subject]Line, error) {
	lines, err := decodingLayout.Read(filepath.Join(folder, decodingFile))
	found := map[experiments.Subject]Line{}
	for _, l := range lines {
		if l["trained"] == "true" {
			found[experiments.Subject{Experiment: l["experiment"], Block: l["block"]}] = l
		}
	}
	return found, err
}

// decodingSample is a quantity over the images that a line of decoding.csv is about.
func decodingSample(l Line, column string) (s Sample, ok bool) {
	images, err := strconv.Atoi(l["images"])
	s = Sample{l.Number(column), l.Number(column + "_std"), images}
	return s, err == nil && !math.IsNaN(s.Mean) && !math.IsNaN(s.Std)
}

// keep is the old line of the same key, with what is declared now; or the line itself where there is none.
func keep(old []Line, l Line) Line {
	for _, before := range old {
		if claimsLayout.Same(before, l) {
			for column, value := range l {
				before[column] = value
			}
			return before
		}
	}
	return l
}

// judge puts the verdict into a line, from its measurement.
func judge(l Line, e experiments.Expectation) {
	m := lineMeasured(l)
	l["verdict"], l["to_decide"] = Open, ""
	switch {
	case l["measured"] == "":
		study, _, _ := experiments.StudyOf(e.Of.Experiment)
		l["to_decide"] = "ebssc run " + study.Name
	case !m.Interval.known():
		l["to_decide"] = m.toDecide(math.NaN())
	case m.Interval.Low > e.Low && m.Interval.High < e.High:
		l["verdict"] = Reproduced
	case m.Interval.High <= e.Low || m.Interval.Low >= e.High:
		l["verdict"] = Contradicted
	default:
		// Of a bound that lies within the interval, the nearer one is the harder to decide.
		l["to_decide"] = m.toDecide(min(math.Abs(m.Value-e.Low), math.Abs(m.Value-e.High)))
	}
}

// lineMeasured reads the measurement in a line.
func lineMeasured(l Line) Measured {
	count, _ := strconv.Atoi(l["count"]) // 0 where nothing was measured
	return Measured{
		Value: l.Number("measured"), Interval: Interval{l.Number("interval_low"), l.Number("interval_high")},
		Method: Method(l["method"]), Count: count, P: l.Number("p_value"),
	}
}

// conjunction is the verdict of a claim, all of whose expectations must hold.
func conjunction(lines []Line) string {
	verdict := Reproduced
	for _, l := range lines {
		switch l["verdict"] {
		case Contradicted:
			return Contradicted
		case Open:
			verdict = Open
		}
	}
	return verdict
}

// ReadClaims reads the ledger of a profile: a line for each expectation of each claim. A file that is not there is an empty
// ledger.
func ReadClaims(results, profile string) ([]Line, error) {
	return claimsLayout.Read(filepath.Join(results, profile, "claims.csv"))
}

// subject writes a subject as one word.
func subject(s experiments.Subject) string {
	if s.Block == "" {
		return s.Experiment
	}
	return s.Experiment + "/" + s.Block
}

// bound writes a bound, and nothing for none.
func bound(value float64) string {
	if math.IsInf(value, 0) {
		return ""
	}
	return strconv.FormatFloat(value, 'g', 6, 64)
}
