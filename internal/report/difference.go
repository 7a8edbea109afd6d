package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/train"
)

// Measured is a measured quantity, or a difference of two.
type Measured struct {
	// Value in the quantity's unit; differences of errors are in percentage points.
	Value float64
	// Interval of the value at the level 1 − [Significance]; unknown where Method is MethodNone.
	Interval Interval
	// Method that the interval was got by.
	Method Method
	// Count is the number of what the method counts: of images, or of the seeds of each side, the fewer of the two.
	Count int
	// P is the p value of [McNemar]'s test; NaN where the difference is not one of test errors on the same images.
	P float64
}

// Method is how an interval was got, and over what.
type Method string

// The methods, see the functions of their names.
const (
	MethodWelchSeeds Method = "Welch, seeds"
	MethodPaired     Method = "Bonett-Price, images"
	MethodBinomial   Method = "Newcombe, images"
	MethodWelch      Method = "Welch, images"
	MethodStudent    Method = "Student, images"
	MethodNone       Method = "none"
)

// alike says whether two groups may be compared: they were trained on the same images for as long, at the same profile with the
// same settings changed, and were tested on the same images.
func alike(a, b Group) bool {
	x, y := a[0].Run, b[0].Run
	return x.Version == y.Version && x.Profile == y.Profile && x.Dataset == y.Dataset && x.SHA256 == y.SHA256 && x.TrainImages == y.TrainImages &&
		x.HeldOut == y.HeldOut && x.Epochs == y.Epochs && maps.Equal(x.Changed(), y.Changed()) && a[0].Labels == b[0].Labels
}

// quantities of a run.
var quantities = map[experiments.Quantity]func(train.Result) float64{
	experiments.TestErr:        func(r train.Result) float64 { return r.TestErr },
	experiments.TrainErr:       func(r train.Result) float64 { return r.TrainErr },
	experiments.TrainObjective: func(r train.Result) float64 { return r.TrainObjective },
}

// difference is that of a quantity in one group less that in another; both must be alike.
//   - Over several seeds of both, the interval is [Welch]'s.
//   - Of a single seed, that of the test error is [BonettPrice]'s, as the images are the same, and that of the train error
//     [Newcombe]'s. Neither knows how much seeds vary.
//   - Of a single seed, that of the objective is unknown.
func difference(quantity experiments.Quantity, of, beside Group) (Measured, error) {
	value := quantities[quantity]
	a, b := sample(beside, value), sample(of, value)
	m := Measured{Value: b.Mean - a.Mean, Interval: Welch(a, b), P: math.NaN()}
	var paired Paired
	if quantity == experiments.TestErr {
		var ok bool
		var err error
		if paired, ok, err = pairedTest(of, beside); err != nil {
			return Measured{}, err
		}
		if ok {
			m.P = paired.P
		}
	}
	single := len(of) == 1 && len(beside) == 1 && of[0].Run.Seed == beside[0].Run.Seed
	switch {
	case m.Interval.known():
		m.Method, m.Count = MethodWelchSeeds, min(a.N, b.N)
	case single && quantity == experiments.TestErr:
		m.Method, m.Count = MethodPaired, len(of[0].Labels)
		m.Interval = BonettPrice(paired.Fixed, paired.Broken, m.Count).scaled(100)
	case single && quantity == experiments.TrainErr:
		m.Method, m.Count = MethodBinomial, of[0].Run.TrainImages
		m.Interval = Newcombe(Proportion{a.Mean / 100, m.Count}, Proportion{b.Mean / 100, m.Count}).scaled(100)
	default:
		m.Method, m.Count = MethodNone, 1
	}
	return m, nil
}

// sample is a quantity over the seeds of a group.
func sample(group Group, quantity func(train.Result) float64) Sample {
	mean, std := spread(group, quantity)
	return Sample{mean, std, len(group)}
}

// pairedTest is [McNemar]'s of two groups, on the seeds that both have; ok is false where there are none.
func pairedTest(of, beside Group) (paired Paired, ok bool, err error) {
	var before, after []string
	for _, a := range beside {
		i := slices.IndexFunc(of, func(b train.Result) bool { return b.Run.Seed == a.Run.Seed })
		if i >= 0 {
			before, after = append(before, a.Predictions), append(after, of[i].Predictions)
		}
	}
	if len(before) == 0 {
		return Paired{}, false, nil
	}
	if paired, err = McNemar(before, after, of[0].Labels); err != nil {
		return Paired{}, false, fmt.Errorf("comparing %s with %s: %w", of[0].Run.Experiment, beside[0].Run.Experiment, err)
	}
	return paired, true, nil
}

// meanOf is a mean over images.
func meanOf(s Sample) Measured {
	return Measured{Value: s.Mean, Interval: Student(s), Method: MethodStudent, Count: s.N, P: math.NaN()}
}

// differenceOf is the difference of two means over images. It takes the images of one for others than those of the other, which
// is on the safe side where both are of the same.
func differenceOf(of, beside Sample) Measured {
	return Measured{Value: of.Mean - beside.Mean, Interval: Welch(beside, of), Method: MethodWelch, Count: min(of.N, beside.N), P: math.NaN()}
}

// mostSeeds is where looking for a number of seeds ends.
const mostSeeds = 1000

// toDecide says how many seeds or images make the interval narrower than that to either side, if all else stays as it is.
func (m Measured) toDecide(half float64) string {
	switch {
	case m.Method == MethodNone:
		return "at least 2 seeds"
	case half == 0:
		return "no number, the difference being the bound"
	}
	now := (m.Interval.High - m.Interval.Low) / 2
	_, unit, _ := strings.Cut(string(m.Method), ", ")
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
