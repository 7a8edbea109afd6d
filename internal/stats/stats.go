// Package stats holds the statistics of the reports: means over seeds, differences of rows that are
// paired over seeds, and the correction for several claims. docs/protocol.md says how they are
// used. Tests compare them with published tables and with calculations by hand.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Significance is the level of all tests; intervals hold at 1 − Significance.
const Significance = 0.05

// Sample sums up values, one a seed.
type Sample struct {
	// Mean and Std, the standard deviation with N − 1 in its denominator. Std is NaN for a single
	// value, both for none.
	Mean, Std float64
	// N is the number of values.
	N int
}

// SampleOf sums up values.
func SampleOf(values []float64) Sample {
	mean, std := stat.MeanStdDev(values, nil)
	return Sample{mean, std, len(values)}
}

// Estimate is a mean over seeds with its standard error. The error follows Student's t distribution
// with so many degrees of freedom; without degrees nothing is known of the error.
type Estimate struct {
	// Value is the mean, NaN without seeds; Error is its standard error.
	Value, Error float64
	// Degrees of freedom.
	Degrees float64
	// N is the number of seeds.
	N int
}

// Known says whether the error is known.
func (e Estimate) Known() bool { return e.Degrees > 0 && e.Error > 0 }

// Interval holds the true value with a chance of 1 − [Significance]. Both ends are NaN where the
// error is not known.
func (e Estimate) Interval() (low, high float64) {
	if !e.Known() {
		return math.NaN(), math.NaN()
	}
	half := e.t().Quantile(1-Significance/2) * e.Error
	return e.Value - half, e.Value + half
}

// Below is the p value of the one-sided test that the true value lies below a bound. It is small
// where it does.
func (e Estimate) Below(bound float64) float64 { return e.t().CDF((e.Value - bound) / e.Error) }

// Above is that of the test that it lies above a bound.
func (e Estimate) Above(bound float64) float64 { return e.t().CDF((bound - e.Value) / e.Error) }

// t is the distribution of the error over the standard error.
func (e Estimate) t() distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: e.Degrees} }

// Sum is a weighted sum: its values, one a seed, and the sum of its squared weights.
type Sum struct {
	Values         []float64
	SquaredWeights float64
}

// Estimate returns the sum's mean over seeds. Its variance between seeds is pooled over several
// sums, which are assumed to have the same variance once divided by their squared weights; sums of
// a single seed are passed over. If the sum itself has a single seed, its error is not known.
func (s Sum) Estimate(pool ...Sum) Estimate {
	squares, degrees := 0.0, 0.0
	for _, sum := range pool {
		if sample := SampleOf(sum.Values); sample.N > 1 {
			squares += float64(sample.N-1) * sample.Std * sample.Std / sum.SquaredWeights
			degrees += float64(sample.N - 1)
		}
	}
	own := SampleOf(s.Values)
	e := Estimate{Value: own.Mean, N: own.N}
	if own.N > 1 && degrees > 0 {
		e.Error = math.Sqrt(squares / degrees * s.SquaredWeights / float64(own.N))
		e.Degrees = degrees
	}
	return e
}

// ByImage has what a weighted sum is on each test image, by seed and image, such as the difference
// between two networks that are both right (0), or of which one is wrong (1 or −1). Its mean over
// images is the sum's value in a seed.
type ByImage [][]float64

// variances returns two parts of the variance of the mean over seeds and images, in the square of
// the unit: the residual, by which an image differs from seed to seed, and the images', by which it
// differs in all seeds. They are components of a two-way layout (Searle, Casella & McCulloch,
// Variance Components, 1992, Ch. 4).
func (x ByImage) variances() (residual, images float64) {
	seeds, count := float64(len(x)), float64(len(x[0]))
	bySeed, byImage := make([]float64, len(x)), make([]float64, len(x[0]))
	for s, values := range x {
		bySeed[s] = stat.Mean(values, nil)
		floats.AddScaled(byImage, 1/seeds, values)
	}
	all := stat.Mean(bySeed, nil)
	between := stat.Variance(byImage, nil) * seeds // the mean square of images
	if len(x) == 1 {
		return 0, between / count
	}
	within := 0.0 // the mean square of what is left
	for s, values := range x {
		for i, value := range values {
			rest := value - bySeed[s] - byImage[i] + all
			within += rest * rest
		}
	}
	within /= (seeds - 1) * (count - 1)
	return within / (seeds * count), max(0, between-within) / (seeds * count)
}

// OverImages returns the estimate for these test images, and for others, too.
//
// For these, its error is at least the square root of the residual part: seeds that agree by chance
// are not taken for exact. For others, images are drawn from a population, as seeds
// are: both variances add up, with the degrees of freedom of Satterthwaite (1946), and of a single
// seed the error is that over images alone. Without images both are the estimate as it is.
func (e Estimate) OverImages(x ByImage) (these, others Estimate) {
	if len(x) == 0 {
		return e, e
	}
	residual, images := x.variances()
	seeds, degrees := 0.0, float64(len(x[0])-1)
	if e.Degrees > 0 { // of more seeds than one
		e.Error = max(e.Error, math.Sqrt(residual))
		seeds = e.Error * e.Error
	}
	all := seeds + images
	if seeds > 0 {
		degrees = all * all / (seeds*seeds/e.Degrees + images*images/degrees)
	}
	return e, Estimate{Value: e.Value, Error: math.Sqrt(all), Degrees: degrees, N: e.N}
}

// Welch estimates b's mean minus a's, which are not paired and may differ in size and deviation, by
// Welch's t.
func Welch(a, b Sample) Estimate {
	e := Estimate{Value: b.Mean - a.Mean, N: min(a.N, b.N)}
	if e.N < 2 {
		return e
	}
	ofA, ofB := a.Std*a.Std/float64(a.N), b.Std*b.Std/float64(b.N)
	if ofA+ofB > 0 {
		e.Error = math.Sqrt(ofA + ofB)
		e.Degrees = (ofA + ofB) * (ofA + ofB) / (ofA*ofA/float64(a.N-1) + ofB*ofB/float64(b.N-1))
	}
	return e
}

// Proportions is half the width of the interval of the difference between two rates, p and q, each
// over n images.
func Proportions(p, q float64, n int) float64 {
	return distuv.UnitNormal.Quantile(1-Significance/2) * math.Sqrt((p*(1-p)+q*(1-q))/float64(n))
}

// Holm corrects p values for their number (Holm, 1979): the chance that even one of those below a
// level is below it by chance alone is at most that level.
func Holm(values []float64) []float64 {
	order := make([]int, len(values))
	floats.ArgsortStable(slices.Clone(values), order)
	corrected, largest := make([]float64, len(values)), 0.0
	for rank, i := range order {
		largest = max(largest, min(1, float64(len(values)-rank)*values[i]))
		corrected[i] = largest
	}
	return corrected
}
