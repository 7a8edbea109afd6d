package report

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
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

// chanceShare is the part of the error of guessing below which a network counts as one that has learned.
const chanceShare = 0.5

// judgeFindings sets the verdicts of all findings, then those of their claims. Holm's correction is for all declared comparisons, measured or
// not: measuring another claim never weakens a verdict.
func (p *Profile) judgeFindings(rows []ClaimRow) {
	var judged []*Finding
	var values []float64
	declared := 0
	for i := range rows {
		for j := range rows[i].Findings {
			declared++
			f := &rows[i].Findings[j]
			f.Verdict, f.P, f.Holm = Open, math.NaN(), math.NaN()
			if f.ToDecide, f.Why = p.whyNotJudged(rows[i].study, *f); f.Why == "" {
				f.P = f.Measured.P(f.Low, f.High)
				judged, values = append(judged, f), append(values, f.P)
			}
		}
	}
	for i, corrected := range stats.Holm(values, declared) {
		f := judged[i]
		f.Holm = corrected
		if corrected < stats.Significance {
			f.Verdict = Disagrees
			if f.Measured.Value > f.Low && f.Measured.Value < f.High {
				f.Verdict = Agrees
			}
			continue
		}
		// Where both bounds lie within the interval, the nearer one is the harder to decide.
		f.seedsToDecide, f.ToDecide = f.Measured.toDecide(min(math.Abs(f.Measured.Value-f.Low), math.Abs(f.Measured.Value-f.High)), stats.Significance/float64(declared))
	}
	for i := range rows {
		rows[i].combineVerdicts()
	}
}

// whyNotJudged says why a finding gets no verdict, and what would give it one; why is empty where it is judged.
func (p *Profile) whyNotJudged(study experiments.Study, f Finding) (decide, why string) {
	command := p.command(study, "")
	switch {
	case !f.measured():
		return command, "not measured"
	case p.declared.Demo:
		return "another profile", fmt.Sprintf("profile %s judges nothing", p.Name)
	case !dataset.OfThePaper(f.Group[0].Run.Dataset.Name):
		return string(study.Images), fmt.Sprintf("measured on %s", dataset.Title(f.Group[0].Run.Dataset.Name))
	}
	for _, r := range f.Group {
		if !learned(r) {
			return "longer training", fmt.Sprintf("%s has not learned: test error %.1f %%", p.suite.Title(r.Run.Experiment), r.TestErr)
		}
	}
	needed := p.declared.Scale(study).VerdictSeeds
	if f.Seeds >= needed && f.Measured.Degrees > 0 {
		return "", ""
	}
	if needed = max(needed, leastSeeds); f.Seeds >= needed {
		return "images on which they differ", fmt.Sprintf("the %d seeds do not vary", f.Seeds)
	}
	return fmt.Sprintf("%d seeds: %s --seeds %[1]d", needed, command), fmt.Sprintf("too few seeds: %d of %d", f.Seeds, needed)
}

// learned says whether a network is better than chance, see chanceShare.
func learned(r record.Record) bool {
	return r.TestErr <= chanceShare*100*(1-1/float64(r.Run.Network.Classes))
}

// combineVerdicts sets the claim's verdict: all its expectations must hold. In the paper's regime, and with several seeds of this scale, the
// words say so.
func (c *ClaimRow) combineVerdicts() {
	c.Verdict = Agrees
	c.inRegime = c.study.Regime > 0
	for _, f := range c.Findings {
		switch f.Verdict {
		case Disagrees:
			c.Verdict = Disagrees
		case Open:
			if c.Verdict == Agrees {
				c.Verdict = Open
			}
		}
		c.inRegime = c.inRegime && f.measured() && f.Why == "" && f.Seeds >= leastSeeds &&
			!slices.ContainsFunc(f.Group, func(r record.Record) bool {
				return r.Run.Width() < experiments.PaperWidth || r.TrainErr > c.study.Regime
			})
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

// leastDegrees is the number of degrees of freedom from which a pooled variance is taken before that of a smaller profile: with fewer an
// interval is over 1.4 times as wide as with many.
const leastDegrees = 4

// pool pools the variance of a quantity between seeds over the study's rows, on the data set and the machine of a run: at this profile, or
// else at the next smaller one that has leastDegrees, or else at the one that has most. at is the name of that profile. Where no row has
// several seeds the variance is not known. A row whose networks have not learned does not count, nor one that another row's runs equal but for their name.
func (p *Profile) pool(study experiments.Study, run experiments.Run, quantity func(record.Record) float64) (all stats.Pool, at string, err error) {
	index := slices.IndexFunc(experiments.Profiles, func(profile experiments.Profile) bool { return profile.Name == p.Name })
	for ; index >= 0 && !experiments.Profiles[index].Demo; index-- {
		other, err := p.smaller(experiments.Profiles[index].Name)
		if err != nil {
			return stats.Pool{}, "", err
		}
		var own stats.Pool
		for _, setting := range other.settings[study.Name] {
			if !setting.has(run) {
				continue
			}
			counted := map[string]bool{}
			for _, e := range study.Experiments {
				group := setting.Groups[e.Name]
				if len(group) == 0 || slices.ContainsFunc(group, func(r record.Record) bool { return !learned(r) }) {
					continue
				}
				nameless := group[0].Run
				nameless.Experiment = ""
				if same := withoutSeed(nameless); !counted[same] {
					counted[same] = true
					own.Add(group.Sample(quantity))
				}
			}
		}
		if own.Known() && own.Degrees() > all.Degrees() {
			all, at = own, other.Name
		}
		if all.Degrees() >= leastDegrees {
			break
		}
	}
	return all, at, nil
}

// smaller is the profile of that name in the same folder of results. It is loaded once.
func (p *Profile) smaller(name string) (other *Profile, err error) {
	if name == p.Name {
		return p, nil
	}
	if p.loaded[name] == nil {
		if other, err = Load(filepath.Dir(p.folder), name, p.suite); err != nil {
			return nil, err
		}
		p.loaded[name] = other
	}
	return p.loaded[name], nil
}
