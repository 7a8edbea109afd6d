package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// Measured is a measured quantity, or a difference of two, in the quantity's unit; differences of errors are in percentage points.
type Measured struct {
	// Estimate over seeds. Without degrees of freedom nothing is known of how much seeds vary, and the measurement decides nothing.
	stats.Estimate
	// Interval of the value at the level 1 − [stats.Significance]: over seeds, or else over images; unknown where Method is MethodNone.
	Interval stats.Interval
	// Method of the interval; the zero value where nothing was measured.
	Method Method
	// Count is the number of images or seeds that the method counts; of two sides the smaller.
	Count int
	// Paired is McNemar's test; nil where the difference is not one of test errors on the same images.
	Paired *stats.Paired
}

// measured says whether anything was measured.
func (m Measured) measured() bool { return m.Method != Method{} }

// pValue is the paired test's p value, and empty without the test.
func (m Measured) pValue() string {
	if m.Paired == nil {
		return ""
	}
	return printP(m.Paired.P)
}

// printP prints a p value, as a bound where numbers of 64 bits do not hold it, and nothing for NaN.
func printP(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 1e-300:
		return "<1e-300"
	default:
		return strconv.FormatFloat(p, 'g', 3, 64)
	}
}

// Method is how an interval was computed, and over what.
type Method struct {
	// Test names the interval, see package stats; "none" where it is unknown.
	Test string
	// Over is what it counts: seeds or images.
	Over string
	// Pooled is the profile whose rows give the deviation between seeds; empty where the deviation is that of the seeds themselves.
	Pooled string
}

// The methods over seeds, but for those with a pooled deviation, and over images.
var (
	MethodWelchSeeds   = Method{Test: "Welch", Over: "seeds"}
	MethodStudentSeeds = Method{Test: "Student", Over: "seeds"}
	MethodPaired       = Method{Test: "Bonett-Price", Over: "images"}
	MethodBinomial     = Method{Test: "Newcombe", Over: "images"}
	MethodWelch        = Method{Test: "Welch", Over: "images"}
	MethodStudent      = Method{Test: "Student", Over: "images"}
	MethodNone         = Method{Test: "none"}
)

// String names the method: "Welch, seeds".
func (m Method) String() string {
	text := m.Test
	if m.Over != "" {
		text += ", " + m.Over
	}
	if m.Pooled != "" {
		text += " pooled at " + m.Pooled
	}
	return text
}

// Text names the method with the number that it counts: "Welch, 3 seeds".
func (m Method) Text(count int) string {
	if m.Over == "" {
		return m.Test
	}
	text := fmt.Sprintf("%s, %s", m.Test, plural(count, strings.TrimSuffix(m.Over, "s")))
	if m.Pooled != "" {
		text += ", deviation pooled at " + m.Pooled
	}
	return text
}

// leastSeeds is the number of seeds of each side from which their own deviation decides: that of two seeds is one difference.
const leastSeeds = 3

// quantities of a record, by their names in claims.
var quantities = map[experiments.Quantity]func(record.Record) float64{
	experiments.TestErr: testErr, experiments.TrainErr: trainErr, experiments.TrainLoss: trainLoss,
}

// difference is a quantity of the subject minus that of the baseline. Both were trained in one setting.
//   - Over several seeds of both, the interval is Welch's.
//   - Of a single seed, that of the test error is Bonett and Price's, as the images are the same, and that of the train error
//     Newcombe's. Neither knows how much seeds vary.
//   - Of a single seed, that of the loss is unknown.
func difference(quantity experiments.Quantity, subject, baseline Group) (Measured, error) {
	a, b := baseline.Sample(quantities[quantity]), subject.Sample(quantities[quantity])
	m := Measured{Estimate: stats.Welch(a, b)}
	m.Interval = m.Estimate.Interval()
	paired, err := pairedTest(subject, baseline)
	if err != nil {
		return Measured{}, err
	}
	if quantity == experiments.TestErr {
		m.Paired = paired
	}
	single := len(subject) == 1 && len(baseline) == 1 && paired != nil
	switch {
	case m.Interval.Known():
		m.Method, m.Count = MethodWelchSeeds, min(a.N, b.N)
	case single && quantity == experiments.TestErr:
		m.Method, m.Count = MethodPaired, len(subject[0].Labels)
		m.Interval = stats.BonettPrice(paired.Fixed, paired.Broken, m.Count).Scaled(100)
	case single && quantity == experiments.TrainErr:
		m.Method, m.Count = MethodBinomial, subject[0].Run.TrainImages
		m.Interval = stats.Newcombe(stats.Proportion{Rate: a.Mean / 100, Of: m.Count}, stats.Proportion{Rate: b.Mean / 100, Of: m.Count}).Scaled(100)
	default:
		m.Method, m.Count = MethodNone, min(a.N, b.N)
	}
	return m, nil
}

// difference is that of two groups of a study. Where one has fewer than leastSeeds, the deviation between seeds is pooled over the study's
// rows, as far as it is known, see pool; else the difference decides nothing.
func (p *Profile) difference(study experiments.Study, quantity experiments.Quantity, subject, baseline Group) (Measured, error) {
	m, err := difference(quantity, subject, baseline)
	if err != nil || min(len(subject), len(baseline)) >= leastSeeds {
		return m, err
	}
	m.Degrees = 0
	pool, at, err := p.pool(study, subject[0].Run, quantities[quantity])
	if err == nil && pool.Known() {
		m.Estimate = pool.Difference(baseline.Sample(quantities[quantity]), subject.Sample(quantities[quantity]))
		m.Interval, m.Method, m.Count = m.Estimate.Interval(), Method{Test: "Student", Over: "seeds", Pooled: at}, min(len(subject), len(baseline))
	}
	return m, err
}

// overSeeds is a mean over seeds. With fewer than leastSeeds nothing is known of its error.
func overSeeds(values []float64) Measured {
	s := stats.SampleOf(values)
	if s.N < leastSeeds {
		return Measured{Estimate: stats.Estimate{Value: s.Mean}, Interval: stats.Unknown, Method: MethodNone, Count: s.N}
	}
	m := Measured{Estimate: stats.Student(s), Method: MethodStudentSeeds, Count: s.N}
	if m.Interval = m.Estimate.Interval(); !m.Interval.Known() {
		m.Method = MethodNone
	}
	return m
}

// pairedTest is McNemar's of two groups, on the seeds that both have; nil where there are none.
func pairedTest(subject, baseline Group) (*stats.Paired, error) {
	var before, after []string
	for _, a := range baseline {
		i := slices.IndexFunc(subject, func(b record.Record) bool { return b.Run.Seed == a.Run.Seed })
		if i >= 0 {
			before, after = append(before, a.Predictions), append(after, subject[i].Predictions)
		}
	}
	if len(before) == 0 {
		return nil, nil
	}
	paired, err := stats.McNemar(before, after, subject[0].Labels)
	if err != nil {
		return nil, fmt.Errorf("comparing %s with %s: %w", subject[0].Run.Experiment, baseline[0].Run.Experiment, err)
	}
	return &paired, nil
}

// overImages is a mean over the test images, or the difference of two. It treats the images of both as different ones, which is
// conservative where they are the same. It says nothing of how much seeds vary.
func overImages(subject stats.Sample, baseline *stats.Sample) Measured {
	if baseline == nil {
		return Measured{Estimate: stats.Estimate{Value: subject.Mean}, Interval: stats.Student(subject).Interval(), Method: MethodStudent, Count: subject.N}
	}
	return Measured{Estimate: stats.Estimate{Value: subject.Mean - baseline.Mean}, Interval: stats.Welch(*baseline, subject).Interval(),
		Method: MethodWelch, Count: min(subject.N, baseline.N)}
}

// toDecide says how many seeds of each side would decide at the level 1 − alpha whether the true value lies beyond a bound at that distance.
func (m Measured) toDecide(distance, alpha float64) (seeds int, text string) {
	if distance < 1e-6 { // the value is the bound itself
		return stats.MostSeeds + 1, "no number of seeds"
	}
	seeds, ok := m.SeedsToDecide(distance, alpha)
	if !ok {
		return stats.MostSeeds + 1, fmt.Sprintf("more than %d seeds", stats.MostSeeds)
	}
	return seeds, fmt.Sprintf("about %d seeds", seeds)
}
