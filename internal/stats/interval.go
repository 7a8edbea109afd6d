package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Significance is the p value below which a difference is called one, after [Holm]'s correction; intervals are at the level 1 − Significance.
const Significance = 0.05

// Interval is a confidence interval at the level 1 − [Significance]. Both ends are NaN where it is unknown.
type Interval struct{ Low, High float64 }

// Unknown is the interval of which nothing is known.
var Unknown = Interval{math.NaN(), math.NaN()}

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
		return Unknown
	}
	wilsonA, wilsonB := Wilson(a), Wilson(b)
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
		return Unknown
	}
	rateFixed, rateBroken := float64(fixed+1)/float64(n+2), float64(broken+1)/float64(n+2)
	difference := rateBroken - rateFixed
	half := distuv.UnitNormal.Quantile(1-Significance/2) * math.Sqrt((rateFixed+rateBroken-difference*difference)/float64(n+2))
	return Interval{difference - half, difference + half}
}

// Scaled is the interval in another unit.
func (i Interval) Scaled(factor float64) Interval { return Interval{factor * i.Low, factor * i.High} }

// Known says whether the interval is known.
func (i Interval) Known() bool { return !math.IsNaN(i.Low) }

// Holds says whether a value lies within the interval: "yes", "no", or "" where one of them is not known.
func (i Interval) Holds(value float64) string {
	switch {
	case !i.Known() || math.IsNaN(value):
		return ""
	case i.Low <= value && value <= i.High:
		return "yes"
	default:
		return "no"
	}
}

// Wilson is Wilson's score interval of a proportion.
func Wilson(p Proportion) Interval {
	z, n := distuv.UnitNormal.Quantile(1-Significance/2), float64(p.Of)
	centre := (p.Rate + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p.Rate*(1-p.Rate)/n+z*z/(4*n*n))
	return Interval{centre - half, centre + half}
}
