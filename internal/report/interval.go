package report

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a confidence interval at the level 1 − [Significance]. Both ends are NaN where it is unknown.
type Interval struct{ Low, High float64 }

// unknown is the unknown interval.
var unknown = Interval{math.NaN(), math.NaN()}

// Sample sums up values, one a seed or one an image.
type Sample struct {
	// Mean and Std, the standard deviation with N − 1 in its denominator.
	Mean, Std float64
	// N is the number of values.
	N int
}

// estimate is a value with the deviation of its error, which follows Student's t distribution with so many degrees of freedom. Without
// degrees nothing is known of the error.
type estimate struct {
	// Value, and Error, the standard deviation of its error.
	Value, Error float64
	// Degrees of freedom.
	Degrees float64
}

// interval of an estimate at the level 1 − alpha; it is unknown without degrees of freedom.
func (e estimate) interval(alpha float64) Interval {
	if e.Degrees == 0 {
		return unknown
	}
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: e.Degrees}.Quantile(1-alpha/2) * e.Error
	return Interval{e.Value - half, e.Value + half}
}

// welch estimates b's mean minus a's by Welch's t: the two samples may differ in size and deviation. Nothing is known of its error where
// a sample has fewer than two values, and where neither deviates.
func welch(a, b Sample) estimate {
	e := estimate{Value: b.Mean - a.Mean}
	if a.N < 2 || b.N < 2 || !(a.Std+b.Std > 0) {
		return e
	}
	degreesA, degreesB := float64(a.N-1), float64(b.N-1)
	varianceA, varianceB := a.Std*a.Std/float64(a.N), b.Std*b.Std/float64(b.N)
	variance := varianceA + varianceB
	e.Error, e.Degrees = math.Sqrt(variance), variance*variance/(varianceA*varianceA/degreesA+varianceB*varianceB/degreesB)
	return e
}

// Welch is the interval of b's mean minus a's: Welch's t interval, whose two samples may differ in size and deviation. It is
// unknown where a sample has fewer than two values, and where neither deviates.
func Welch(a, b Sample) Interval { return welch(a, b).interval(Significance) }

// student estimates a sample's mean by Student's t. Nothing is known of its error for fewer than two values, and where they are the same.
func student(s Sample) estimate {
	if s.N < 2 || !(s.Std > 0) {
		return estimate{Value: s.Mean}
	}
	return estimate{s.Mean, s.Std / math.Sqrt(float64(s.N)), float64(s.N - 1)}
}

// Student is the interval of a sample's mean, of Student's t distribution. It is unknown for fewer than two values.
func Student(s Sample) Interval { return student(s).interval(Significance) }

// Proportion is how many of some images are classified wrongly.
type Proportion struct {
	// Rate is their part, from 0 to 1.
	Rate float64
	// Of is the number of all images.
	Of int
}

// Newcombe is the interval of b's rate minus a's, as of two independent binomial counts: method 10 of Newcombe,
// "Interval estimation for the difference between independent proportions", Statistics in Medicine 17, 1998, which combines
// Wilson's intervals of both. Unlike the normal approximation it holds close to rates of 0 and 1. It is unknown where the
// number of images is.
//
// Models that are tested on the same images err on many of them together. Their difference then varies less than this
// interval says, so it is on the safe side; the paired test, [McNemar], finds smaller differences, but needs all predictions.
func Newcombe(a, b Proportion) Interval {
	if a.Of < 1 || b.Of < 1 {
		return unknown
	}
	wilsonA, wilsonB := wilson(a), wilson(b)
	difference := b.Rate - a.Rate
	return Interval{
		Low:  difference - math.Hypot(b.Rate-wilsonB.Low, wilsonA.High-a.Rate),
		High: difference + math.Hypot(wilsonB.High-b.Rate, a.Rate-wilsonA.Low),
	}
}

// BonettPrice is the interval of the difference in error rates of two models on the same n images, of which the second model
// gets `fixed` right that the first gets wrong, and `broken` wrong that the first gets right: the adjusted Wald interval of
// Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data", Journal
// of Educational and Behavioral Statistics 37, 2012. It holds for few differences, too, and is centred next to the difference.
func BonettPrice(fixed, broken, n int) Interval {
	if n < 1 {
		return unknown
	}
	rateFixed, rateBroken := float64(fixed+1)/float64(n+2), float64(broken+1)/float64(n+2)
	difference := rateBroken - rateFixed
	half := distuv.UnitNormal.Quantile(1-Significance/2) * math.Sqrt((rateFixed+rateBroken-difference*difference)/float64(n+2))
	return Interval{difference - half, difference + half}
}

// scaled is the interval in another unit.
func (i Interval) scaled(factor float64) Interval { return Interval{factor * i.Low, factor * i.High} }

// known says whether the interval is known.
func (i Interval) known() bool { return !math.IsNaN(i.Low) }

// holds says whether a value lies within the interval: "yes", "no", or "" where one of them is not known.
func (i Interval) holds(value float64) string {
	switch {
	case !i.known() || math.IsNaN(value):
		return ""
	case i.Low <= value && value <= i.High:
		return "yes"
	default:
		return "no"
	}
}

// wilson is Wilson's score interval of a proportion.
func wilson(p Proportion) Interval {
	z, n := distuv.UnitNormal.Quantile(1-Significance/2), float64(p.Of)
	centre := (p.Rate + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p.Rate*(1-p.Rate)/n+z*z/(4*n*n))
	return Interval{centre - half, centre + half}
}
