package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// minusBase returns the terms of a row minus its base.
func minusBase(subject, base string) []experiments.Term {
	return []experiments.Term{{Weight: 1, Experiment: subject}, {Weight: -1, Experiment: base}}
}

// mergeTerms adds the weights of terms that are otherwise equal, and drops those whose weights
// cancel.
func mergeTerms(terms []experiments.Term) (all []experiments.Term) {
	for _, term := range terms {
		at := slices.IndexFunc(all, func(other experiments.Term) bool {
			return other.Experiment == term.Experiment && other.Block == term.Block &&
				other.Untrained == term.Untrained
		})
		if at < 0 {
			all = append(all, term)
		} else {
			all[at].Weight += term.Weight
		}
	}
	return slices.DeleteFunc(all, func(term experiments.Term) bool { return term.Weight == 0 })
}

// contrast writes a sum of terms, the added ones first, with titles of experiments:
// "2 × (T = 1) − (T = 0) − (T = 2)".
func contrast(terms []experiments.Term, title func(experiment string) string) (sum string) {
	terms = mergeTerms(terms)
	slices.SortStableFunc(terms, func(a, b experiments.Term) int {
		return cmp.Compare(b.Weight, a.Weight)
	})
	for i, term := range terms {
		if term.Weight < 0 {
			sum += " − "
		} else if i > 0 {
			sum += " + "
		}
		if weight := math.Abs(term.Weight); weight != 1 {
			sum += fmt.Sprintf("%g × ", weight)
		}
		name := title(term.Experiment)
		if strings.Contains(name, "=") {
			name = "(" + name + ")"
		}
		sum += strings.TrimSpace(name + " " + term.Block)
		if term.Untrained {
			sum += ", untrained"
		}
	}
	return strings.TrimSpace(sum)
}

// contrastBySeed returns a weighted sum of a quantity in each seed in which all terms were
// measured, and the sum of the squared weights. Rows of one seed share initial values, image order
// and augmentation, so their differences are paired.
func (p *Results) contrastBySeed(quantity experiments.Quantity, terms []experiments.Term) (
	sum stats.Sum) {
	for _, term := range mergeTerms(terms) {
		sum.SquaredWeights += term.Weight * term.Weight
	}
seeds:
	for _, records := range p.bySeed(terms) {
		total := 0.0
		for i, term := range terms {
			value := records[i].Value(quantity, term)
			if value == nil {
				continue seeds
			}
			total += term.Weight * *value
		}
		sum.Values = append(sum.Values, total)
	}
	return sum
}

// bySeed returns the records of the rows of terms, in their order, in each seed in which all of
// them are recorded.
func (p *Results) bySeed(terms []experiments.Term) (all [][]record.Record) {
	for _, first := range p.rows[terms[0].Experiment].Records {
		var records []record.Record
		for _, term := range terms {
			for _, r := range p.rows[term.Experiment].Records {
				if r.Run.Seed == first.Run.Seed {
					records = append(records, r)
				}
			}
		}
		if len(records) == len(terms) {
			all = append(all, records)
		}
	}
	return all
}

// errorsByImage returns a weighted sum of errors on each test image, in points, in each seed in
// which all rows were measured; nil where there is none.
func (p *Results) errorsByImage(terms []experiments.Term) (all stats.ByImage) {
	for _, records := range p.bySeed(terms) {
		sum := make([]float64, records[0].Run.TestImages)
		for i, term := range terms {
			records[i].AddErrors(sum, term.Weight)
		}
		all = append(all, sum)
	}
	return all
}

// pooled returns the sums over which the variance between seeds is pooled. Of a quantity of blocks
// these are all expectations about it; of others the steps of the study at the scale of the
// expectation's terms, none where these are of several scales.
func (p *Results) pooled(study experiments.Study, e experiments.Expectation,
	all []experiments.Expectation) (sums [][]experiments.Term) {
	if e.Quantity.InBlock {
		for _, other := range all {
			if other.Quantity == e.Quantity {
				sums = append(sums, other.Terms)
			}
		}
		return sums
	}
	scale := p.rows[e.Terms[0].Experiment].scale
	differs := func(term experiments.Term) bool { return p.rows[term.Experiment].scale != scale }
	if slices.ContainsFunc(e.Terms, differs) {
		return nil
	}
	for _, row := range study.Experiments {
		step := minusBase(row.Name, row.Base)
		if row.Base != "" && p.rows[row.Name].reported() && !slices.ContainsFunc(step, differs) {
			sums = append(sums, step)
		}
	}
	return sums
}

// estimate estimates the sum of one of a claim's expectations, paired over seeds. Where no variance
// is pooled it is the sum's own. Of a test error, seeds holds for these test images and both for
// others, too, see [stats.Estimate.OverImages]. Of other quantities they are the same.
func (p *Results) estimate(study experiments.Study, e experiments.Expectation,
	all []experiments.Expectation) (seeds, both stats.Estimate) {
	var pool []stats.Sum
	for _, terms := range p.pooled(study, e, all) {
		pool = append(pool, p.contrastBySeed(e.Quantity, terms))
	}
	sum := p.contrastBySeed(e.Quantity, e.Terms)
	if seeds = sum.Estimate(pool...); seeds.Degrees == 0 {
		seeds = sum.Estimate(sum)
	}
	if e.Quantity != experiments.TestErr {
		return seeds, seeds
	}
	return seeds.OverImages(p.errorsByImage(e.Terms))
}

// Difference estimates how much the test error of one experiment is above that of another one: over
// seeds for these test images, as claims are judged, and over seeds and images together.
func (p *Results) Difference(subject, base string) (seeds, both stats.Estimate) {
	step := experiments.Expectation{Quantity: experiments.TestErr, Terms: minusBase(subject, base)}
	return p.estimate(p.rows[subject].Study, step, nil)
}

// estimates are those of expectations. With overImages those of test errors hold for other test
// images than these, too.
func (p *Results) estimates(study experiments.Study, expect []experiments.Expectation,
	overImages bool) (all []stats.Estimate) {
	for _, e := range expect {
		estimate, both := p.estimate(study, e, expect)
		if overImages {
			estimate = both
		}
		all = append(all, estimate)
	}
	return all
}
