package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
)

// Measured is a measured quantity, or a difference of two.
type Measured struct {
	// Value in the quantity's unit; differences of errors are in percentage points.
	Value float64
	// Interval of the value at the level 1 − [Significance]; unknown where Method is MethodNone.
	Interval Interval
	// Method of the interval; empty where nothing was measured.
	Method Method
	// Count is the number of images or seeds that the method counts; of two sides the smaller.
	Count int
	// Paired is [McNemar]'s test; nil where the difference is not one of test errors on the same images.
	Paired *Paired
}

// pValue is the paired test's p value, as a bound where numbers of 64 bits do not hold it, and empty without the test.
func (m Measured) pValue() string {
	switch {
	case m.Paired == nil:
		return ""
	case m.Paired.P < 1e-300:
		return "<1e-300"
	default:
		return strconv.FormatFloat(m.Paired.P, 'g', 3, 64)
	}
}

// Method is how an interval was computed, and over what.
type Method string

// The methods, see the functions of their names.
const (
	MethodWelchSeeds   Method = "Welch, seeds"
	MethodStudentSeeds Method = "Student, seeds"
	MethodPaired       Method = "Bonett-Price, images"
	MethodBinomial     Method = "Newcombe, images"
	MethodWelch        Method = "Welch, images"
	MethodStudent      Method = "Student, images"
	MethodNone         Method = "none"
)

// quantities of a record, by their names in claims.
var quantities = map[experiments.Quantity]func(record.Record) float64{
	experiments.TestErr: testErr, experiments.TrainErr: trainErr, experiments.TrainObjective: trainObjective,
}

// difference is a quantity of the subject minus that of the baseline. Both were trained in one setting.
//   - Over several seeds of both, the interval is [Welch]'s.
//   - Of a single seed, that of the test error is [BonettPrice]'s, as the images are the same, and that of the train error
//     [Newcombe]'s. Neither knows how much seeds vary.
//   - Of a single seed, that of the objective is unknown.
func difference(quantity experiments.Quantity, subject, baseline Group) (Measured, error) {
	a, b := baseline.Sample(quantities[quantity]), subject.Sample(quantities[quantity])
	m := Measured{Value: b.Mean - a.Mean, Interval: Welch(a, b)}
	paired, err := pairedTest(subject, baseline)
	if err != nil {
		return Measured{}, err
	}
	if quantity == experiments.TestErr {
		m.Paired = paired
	}
	single := len(subject) == 1 && len(baseline) == 1 && paired != nil
	switch {
	case m.Interval.known():
		m.Method, m.Count = MethodWelchSeeds, min(a.N, b.N)
	case single && quantity == experiments.TestErr:
		m.Method, m.Count = MethodPaired, len(subject[0].Labels)
		m.Interval = BonettPrice(paired.Fixed, paired.Broken, m.Count).scaled(100)
	case single && quantity == experiments.TrainErr:
		m.Method, m.Count = MethodBinomial, subject[0].Run.TrainImages
		m.Interval = Newcombe(Proportion{a.Mean / 100, m.Count}, Proportion{b.Mean / 100, m.Count}).scaled(100)
	default:
		m.Method, m.Count = MethodNone, 1
	}
	return m, nil
}

// alone is a quantity of the subject itself, over its seeds. The interval of a single seed is unknown.
func alone(quantity experiments.Quantity, subject Group) Measured {
	s := subject.Sample(quantities[quantity])
	m := Measured{Value: s.Mean, Interval: Student(s), Method: MethodStudentSeeds, Count: s.N}
	if !m.Interval.known() {
		m.Method = MethodNone
	}
	return m
}

// pairedTest is [McNemar]'s of two groups, on the seeds that both have; nil where there are none.
func pairedTest(subject, baseline Group) (*Paired, error) {
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
	paired, err := McNemar(before, after, subject[0].Labels)
	if err != nil {
		return nil, fmt.Errorf("comparing %s with %s: %w", subject[0].Run.Experiment, baseline[0].Run.Experiment, err)
	}
	return &paired, nil
}

// meanOf is a mean over images.
func meanOf(s Sample) Measured {
	return Measured{Value: s.Mean, Interval: Student(s), Method: MethodStudent, Count: s.N}
}

// differenceOf is the difference of two means over images. It treats the images of both as different ones, which is conservative
// where they are the same.
func differenceOf(subject, baseline Sample) Measured {
	return Measured{Value: subject.Mean - baseline.Mean, Interval: Welch(baseline, subject), Method: MethodWelch, Count: min(subject.N, baseline.N)}
}

// mostSeeds is the largest number of seeds that toDecide tries.
const mostSeeds = 1000

// toDecide says how many seeds or images make half the interval narrower than `half`, if the measured value and deviation stay.
func (m Measured) toDecide(half float64) string {
	_, unit, _ := strings.Cut(string(m.Method), ", ")
	switch {
	case m.Method == MethodNone:
		return "at least 2 seeds"
	case half < 1e-6: // the value is the bound itself
		return "no number of " + unit
	}
	now := (m.Interval.High - m.Interval.Low) / 2
	if m.Method != MethodWelchSeeds {
		return fmt.Sprintf("about %.0f %s", math.Ceil(float64(m.Count)*(now/half)*(now/half)), unit)
	}
	// The deviation of seeds, taken to be the same on both sides, and from it how wide the interval of more would be.
	width := func(seeds int, std float64) float64 {
		s := Sample{Std: std, N: seeds}
		return Welch(s, s).High
	}
	std := now / width(m.Count, 1)
	for seeds := m.Count; seeds <= mostSeeds; seeds++ {
		if width(seeds, std) < half {
			return fmt.Sprintf("about %d seeds", seeds)
		}
	}
	return fmt.Sprintf("more than %d seeds", mostSeeds)
}
