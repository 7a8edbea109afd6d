package report

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
)

// Verdicts about a claim, and about each of its expectations. In the paper's regime, see [experiments.Study.Regime], a claim is reproduced
// or contradicted. At any other scale the words are about the direction there alone.
const (
	Reproduced   = "reproduced"
	Contradicted = "contradicted"
	Agrees       = "agrees"
	Disagrees    = "disagrees"
	Open         = "open" // Nothing was measured, or it decides nothing.
)

// Significance is the p value, after Holm's correction for all comparisons that the suite's claims declare, below which a difference is
// called one.
const Significance = 0.05

// leastSeeds is the number of seeds of each side from which their own deviation decides: that of two seeds is one difference.
const leastSeeds = 3

// chanceShare is the part of the error of guessing below which a network counts as one that has learned.
const chanceShare = 0.5

// power is the chance with which the number of seeds that would decide a comparison decides it.
const power = 0.8

// judge sets the verdicts of all findings. Holm's correction is for all declared comparisons, measured or not: measuring another
// claim never weakens a verdict.
func (p *Profile) judge(rows []ClaimRow) {
	var judged []*Finding
	var values []float64
	declared := 0
	for i := range rows {
		for j := range rows[i].Findings {
			declared++
			f := &rows[i].Findings[j]
			f.Verdict, f.P, f.Holm = Open, math.NaN(), math.NaN()
			if f.ToDecide, f.Why = p.unjudged(rows[i].study, *f); f.Why == "" {
				f.P = f.Measured.p(f.Low, f.High)
				judged, values = append(judged, f), append(values, f.P)
			}
		}
	}
	for i, corrected := range Holm(values, declared) {
		f := judged[i]
		f.Holm = corrected
		if corrected < Significance {
			f.Verdict = Disagrees
			if f.Measured.Value > f.Low && f.Measured.Value < f.High {
				f.Verdict = Agrees
			}
			continue
		}
		// Where both bounds lie within the interval, the nearer one is the harder to decide.
		f.ToDecide = f.Measured.toDecide(min(math.Abs(f.Measured.Value-f.Low), math.Abs(f.Measured.Value-f.High)), Significance/float64(declared))
	}
	for i := range rows {
		rows[i].judge()
	}
}

// unjudged says why a finding gets no verdict, and what would give it one; why is empty where it is judged.
func (p *Profile) unjudged(study experiments.Study, f Finding) (decide, why string) {
	command := p.command(study, "")
	switch {
	case !f.measured():
		return command, "not measured"
	case p.declared.Demo:
		return "another profile", fmt.Sprintf("profile %s judges nothing", p.Name)
	case !ofThePaper(study.Images, f.Group[0].Run.Dataset):
		return string(study.Images), fmt.Sprintf("measured on %s", dataset.Title(f.Group[0].Run.Dataset.Name))
	}
	for _, r := range f.Group {
		if guessing := 100 * (1 - 1/float64(r.Run.Network.Classes)); r.TestErr > chanceShare*guessing {
			return "longer training", fmt.Sprintf("%s has not learned: test error %.1f %%", p.title(r.Run.Experiment), r.TestErr)
		}
	}
	if f.Measured.Degrees == 0 {
		return fmt.Sprintf("%d seeds: %s --seeds %[1]d", leastSeeds, command), "too few seeds"
	}
	return "", ""
}

// ofThePaper says whether a data set is the one that the paper means by these images, whatever its compression.
func ofThePaper(images experiments.Images, set experiments.Dataset) bool {
	return slices.Contains(map[experiments.Images][]string{
		experiments.CIFAR10: {dataset.CIFAR10Name, dataset.CIFAR10JPEGName}, experiments.MNIST: {dataset.MNISTName},
	}[images], set.Name)
}

// judge sets the claim's verdict: all its expectations must hold. In the paper's regime, and with several seeds of this scale, the words
// say so.
func (c *ClaimRow) judge() {
	c.Verdict = Agrees
	c.inRegime = true
	for _, f := range c.Findings {
		switch f.Verdict {
		case Disagrees:
			c.Verdict = Disagrees
		case Open:
			if c.Verdict == Agrees {
				c.Verdict = Open
			}
		}
		c.inRegime = c.inRegime && f.Seeds >= leastSeeds &&
			!slices.ContainsFunc(f.Group, func(r record.Record) bool { return r.TrainErr > c.study.Regime })
	}
	if !c.inRegime {
		return
	}
	c.Verdict = cmp.Or(regimeWords[c.Verdict], c.Verdict)
	for i := range c.Findings {
		f := &c.Findings[i]
		f.Verdict = cmp.Or(regimeWords[f.Verdict], f.Verdict)
	}
}

// regimeWords are the verdicts in the paper's regime.
var regimeWords = map[string]string{Agrees: Reproduced, Disagrees: Contradicted}

// p is the two-sided p value of a measurement against a claim that it lies between two bounds: of the hypothesis that the true value lies on
// the other side of the bounds, outside for a value within and within for a value outside. It takes the larger one of two bounds.
func (m Measured) p(low, high float64) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: m.Degrees}
	tail := func(bound float64) float64 { return t.CDF(-math.Abs(m.Value-bound) / m.Error) } // 0 for a bound at infinity
	switch {
	case m.Value <= low:
		return min(1, 2*tail(low))
	case m.Value >= high:
		return min(1, 2*tail(high))
	default:
		return min(1, 2*max(tail(low), tail(high)))
	}
}

// Holm corrects p values (Holm, 1979) for the size of the family of comparisons that they belong to, at least their number: the chance that
// even one of those below a level is below it by chance alone is at most that level.
func Holm(values []float64, family int) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	corrected, largest := make([]float64, len(values)), 0.0
	for rank, i := range order {
		largest = max(largest, min(1, float64(family-rank)*values[i]))
		corrected[i] = largest
	}
	return corrected
}

// pooled is the deviation between seeds, pooled over the rows of a study that have several, at this scale or else at the next smaller one
// that has such rows.
type pooled struct {
	profile string
	// variance between seeds, and its degrees of freedom.
	variance, degrees float64
}

// pool pools the variance of a quantity over the study's rows on the data set and the machine of a run; ok is false where no row has several
// seeds.
func (p *Profile) pool(study experiments.Study, run experiments.Run, quantity func(record.Record) float64) (all pooled, ok bool, err error) {
	at := slices.IndexFunc(experiments.Profiles, func(profile experiments.Profile) bool { return profile.Name == p.Name })
	for ; at >= 0 && !experiments.Profiles[at].Demo; at-- {
		other := p
		if name := experiments.Profiles[at].Name; name != p.Name {
			if other, err = Load(filepath.Dir(p.folder), name, p.suite); err != nil {
				return pooled{}, false, err
			}
		}
		all = pooled{profile: other.Name}
		for _, setting := range other.settings[study.Name] {
			if !setting.has(run) {
				continue
			}
			for _, e := range study.Experiments {
				if s := setting.Groups[e.Name].Sample(quantity); s.N > 1 {
					all.variance += float64(s.N-1) * s.Std * s.Std
					all.degrees += float64(s.N - 1)
				}
			}
		}
		if all.degrees > 0 && all.variance > 0 {
			all.variance /= all.degrees
			return all, true, nil
		}
	}
	return pooled{}, false, nil
}

// difference is the difference of two samples of a few seeds, with the pooled deviation in place of their own.
func (p pooled) difference(a, b Sample) Measured {
	e := estimate{b.Mean - a.Mean, math.Sqrt(p.variance * (1/float64(a.N) + 1/float64(b.N))), p.degrees}
	return Measured{estimate: e, Interval: e.interval(Significance), Method: MethodPooled + Method(p.profile), Count: min(a.N, b.N)}
}
