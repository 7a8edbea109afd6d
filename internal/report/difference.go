package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
)

// Measured is a measured quantity, or a difference of two, in the quantity's unit; differences of errors are in percentage points.
type Measured struct {
	// estimate over seeds. Without degrees of freedom nothing is known of how much seeds vary, and the measurement decides nothing.
	estimate
	// Interval of the value at the level 1 − [Significance]: over seeds, or else over images; unknown where Method is MethodNone.
	Interval Interval
	// Method of the interval; empty where nothing was measured.
	Method Method
	// Count is the number of images or seeds that the method counts; of two sides the smaller.
	Count int
	// Paired is [McNemar]'s test; nil where the difference is not one of test errors on the same images.
	Paired *Paired
}

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
type Method string

// The methods, see the functions of their names.
const (
	MethodWelchSeeds   Method = "Welch, seeds"
	MethodStudentSeeds Method = "Student, seeds"
	// MethodPooled is followed by the profile whose seeds give the deviation.
	MethodPooled   Method = "Student, seeds pooled at "
	MethodPaired   Method = "Bonett-Price, images"
	MethodBinomial Method = "Newcombe, images"
	MethodWelch    Method = "Welch, images"
	MethodStudent  Method = "Student, images"
	MethodNone     Method = "none"
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
	m := Measured{estimate: welch(a, b)}
	m.Interval = m.interval(Significance)
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
		m.Method, m.Count = MethodNone, min(a.N, b.N)
	}
	return m, nil
}

// overSeeds is a mean over seeds. The interval of a single seed is unknown.
func overSeeds(s Sample) Measured {
	m := Measured{estimate: student(s), Method: MethodStudentSeeds, Count: s.N}
	m.Interval = m.interval(Significance)
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

// overImages is a mean over the test images, or the difference of two. It treats the images of both as different ones, which is
// conservative where they are the same. It says nothing of how much seeds vary.
func overImages(subject Sample, baseline *Sample) Measured {
	if baseline == nil {
		return Measured{estimate: estimate{Value: subject.Mean}, Interval: Student(subject), Method: MethodStudent, Count: subject.N}
	}
	return Measured{estimate: estimate{Value: subject.Mean - baseline.Mean}, Interval: Welch(*baseline, subject), Method: MethodWelch,
		Count: min(subject.N, baseline.N)}
}

// mostSeeds is the largest number of seeds that toDecide tries.
const mostSeeds = 1000

// toDecide says how many seeds of each side would, in four cases of five (see power), give an interval at the level 1 − alpha without a bound
// that lies so far from the value, if the value and the deviation between seeds are the true ones.
func (m Measured) toDecide(distance, alpha float64) string {
	if distance < 1e-6 { // the value is the bound itself
		return "no number of seeds"
	}
	sides := 2.0
	if m.Method == MethodStudentSeeds {
		sides = 1
	}
	std := m.Error * math.Sqrt(float64(m.Count)/sides)
	for seeds := m.Count; seeds <= mostSeeds; seeds++ {
		degrees := max(m.Degrees, sides*float64(seeds-1)) // of the pooled deviation, or of more seeds
		if m.Method == MethodWelchSeeds || m.Method == MethodStudentSeeds {
			degrees = m.Degrees * float64(seeds-1) / float64(m.Count-1)
		}
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: degrees}
		if std*math.Sqrt(sides/float64(seeds))*(t.Quantile(1-alpha/2)+t.Quantile(power)) < distance {
			return fmt.Sprintf("about %d seeds", seeds)
		}
	}
	return fmt.Sprintf("more than %d seeds", mostSeeds)
}
