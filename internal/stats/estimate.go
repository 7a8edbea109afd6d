package stats

import (
	"fmt"
	"math"

	moremath "github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Sample sums up values, one a seed or one an image.
type Sample struct {
	// Mean and Std, the standard deviation with N − 1 in its denominator; NaN for a single value.
	Mean, Std float64
	// N is the number of values.
	N int
}

// SampleOf sums up values.
func SampleOf(values []float64) Sample {
	mean, std := stat.MeanStdDev(values, nil)
	return Sample{mean, std, len(values)}
}

// Text is the mean with the standard deviation, where one is known, with that many decimals: "26.72 ± 0.35".
func (s Sample) Text(digits int) string {
	if math.IsNaN(s.Std) {
		return fmt.Sprintf("%.*f", digits, s.Mean)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, s.Mean, digits, s.Std)
}

// Median of values, which stay as they are: of an even number the mean of the middle two.
func Median(values []float64) float64 { return moremath.Sample{Xs: values}.Quantile(0.5) }

// Estimate is a mean over seeds, or a difference of two, with the standard deviation of its error. The error follows Student's t distribution
// with so many degrees of freedom. Without degrees nothing is known of the error.
type Estimate struct {
	// Value, and Error, the standard deviation of its error.
	Value, Error float64
	// Degrees of freedom.
	Degrees float64

	// variance of a seed, the mean over the sides of a difference: 2 of them, or 1 of a mean.
	variance, sides float64
	// growth is how many degrees of freedom one more seed of each side brings.
	growth float64
}

// Welch estimates b's mean minus a's by Welch's t: the two samples may differ in size and deviation. Nothing is known of its error where
// a sample has fewer than two values, and where neither deviates.
func Welch(a, b Sample) Estimate {
	e := Estimate{Value: b.Mean - a.Mean}
	if a.N < 2 || b.N < 2 || !(a.Std+b.Std > 0) {
		return e
	}
	degreesA, degreesB := float64(a.N-1), float64(b.N-1)
	ofA, ofB := a.Std*a.Std, b.Std*b.Std
	varianceA, varianceB := ofA/float64(a.N), ofB/float64(b.N)
	variance := varianceA + varianceB
	e.Error, e.Degrees = math.Sqrt(variance), variance*variance/(varianceA*varianceA/degreesA+varianceB*varianceB/degreesB)
	e.sides, e.variance, e.growth = 2, (ofA+ofB)/2, (ofA+ofB)*(ofA+ofB)/(ofA*ofA+ofB*ofB)
	return e
}

// Student estimates a sample's mean by Student's t. Nothing is known of its error for fewer than two values, and where they are the same.
func Student(s Sample) Estimate {
	if s.N < 2 || !(s.Std > 0) {
		return Estimate{Value: s.Mean}
	}
	return Estimate{Value: s.Mean, Error: s.Std / math.Sqrt(float64(s.N)), Degrees: float64(s.N - 1), sides: 1, variance: s.Std * s.Std, growth: 1}
}

// Pool is the variance between seeds, pooled over samples that may be taken to have the same.
type Pool struct {
	// squares are the samples' sums of squares about their means, and degrees their degrees of freedom.
	squares, degrees float64
	// samples of several values each.
	samples []Sample
}

// Add adds a sample. One of a single value says nothing of the variance.
func (p *Pool) Add(s Sample) {
	if s.N > 1 {
		p.squares += float64(s.N-1) * s.Std * s.Std
		p.degrees += float64(s.N - 1)
		p.samples = append(p.samples, s)
	}
}

// Known says whether the variance is known: a sample has several values, they vary, and [Pool.Bartlett] does not tell the samples' variances
// apart at the level [Significance].
func (p Pool) Known() bool { return p.degrees > 0 && p.squares > 0 && p.Bartlett() >= Significance }

// Degrees are those of freedom of the pooled variance.
func (p Pool) Degrees() float64 { return p.degrees }

// Bartlett is the p value of Bartlett's test that all samples have the same variance; 1 for a single sample. Samples whose values are the same
// do not take part: errors are counts of images, so few of them may well be equal, and the test takes them to be continuous.
func (p Pool) Bartlett() float64 {
	var squares, degrees, logarithms, inverses float64
	others := -1.0
	for _, s := range p.samples {
		if s.Std == 0 {
			continue
		}
		own := float64(s.N - 1)
		squares, degrees, others = squares+own*s.Std*s.Std, degrees+own, others+1
		logarithms += own * math.Log(s.Std*s.Std)
		inverses += 1 / own
	}
	if others < 1 {
		return 1
	}
	statistic := degrees*math.Log(squares/degrees) - logarithms
	return distuv.ChiSquared{K: others}.Survival(statistic / (1 + (inverses-1/degrees)/(3*others)))
}

// Difference estimates b's mean minus a's, with the pooled variance in place of their own.
func (p Pool) Difference(a, b Sample) Estimate {
	variance := p.squares / p.degrees
	return Estimate{Value: b.Mean - a.Mean, Error: math.Sqrt(variance * (1/float64(a.N) + 1/float64(b.N))), Degrees: p.degrees,
		sides: 2, variance: variance, growth: 2}
}

// Interval of the estimate at the level 1 − [Significance]; it is unknown without degrees of freedom.
func (e Estimate) Interval() Interval {
	if e.Degrees == 0 {
		return Unknown
	}
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: e.Degrees}.Quantile(1-Significance/2) * e.Error
	return Interval{e.Value - half, e.Value + half}
}

// P is the two-sided p value of the estimate against a claim that its true value lies between two bounds: of the hypothesis that it lies on
// the other side of the bounds, outside for a value within and within for a value outside. It takes the larger one of two bounds.
func (e Estimate) P(low, high float64) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: e.Degrees}
	tail := func(bound float64) float64 { return t.CDF(-math.Abs(e.Value-bound) / e.Error) } // 0 for a bound at infinity
	switch {
	case e.Value <= low:
		return min(1, 2*tail(low))
	case e.Value >= high:
		return min(1, 2*tail(high))
	default:
		return min(1, 2*max(tail(low), tail(high)))
	}
}

// Power is the chance with which the number of seeds that [Estimate.SeedsToDecide] returns decides a comparison.
const Power = 0.8

// MostSeeds is the largest number of seeds that [Estimate.SeedsToDecide] tries.
const MostSeeds = 1000

// SeedsToDecide is the least number of seeds of each side that gives, with a chance of [Power], an interval at the level 1 − alpha without a
// bound at that distance from the value, if the value and the variance of a seed are the true ones. ok is false where more than [MostSeeds]
// would be needed, or where the value is the bound.
func (e Estimate) SeedsToDecide(distance, alpha float64) (seeds int, ok bool) {
	for seeds := 2; seeds <= MostSeeds; seeds++ {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: e.growth * float64(seeds-1)}
		if math.Sqrt(e.sides*e.variance/float64(seeds))*(t.Quantile(1-alpha/2)+t.Quantile(Power)) < distance {
			return seeds, true
		}
	}
	return 0, false
}
