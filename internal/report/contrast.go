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

// step are the terms of a row minus its base.
func step(subject, base string) []experiments.Term {
	return []experiments.Term{{Weight: 1, Experiment: subject}, {Weight: -1, Experiment: base}}
}

// merged are terms of which no two differ in their weights alone: equal ones are one, with the sum of the weights.
func merged(terms []experiments.Term) (all []experiments.Term) {
	for _, term := range terms {
		at := slices.IndexFunc(all, func(other experiments.Term) bool { other.Weight = term.Weight; return other == term })
		if at < 0 {
			all = append(all, term)
		} else {
			all[at].Weight += term.Weight
		}
	}
	return slices.DeleteFunc(all, func(term experiments.Term) bool { return term.Weight == 0 })
}

// contrast writes a sum of terms, the added ones first, with titles of experiments: "2 × (T = 1) − (T = 0) − (T = 2)".
func contrast(terms []experiments.Term, title func(experiment string) string) (sum string) {
	terms = merged(terms)
	slices.SortStableFunc(terms, func(a, b experiments.Term) int { return cmp.Compare(b.Weight, a.Weight) })
	for i, term := range terms {
		if term.Weight < 0 {
			sum += " − "
		} else if i > 0 {
			sum += " + "
		}
		if weight := math.Abs(term.Weight); weight != 1 {
			sum += fmt.Sprintf("%g × ", weight)
		}
		of := title(term.Experiment)
		if strings.Contains(of, "=") {
			of = "(" + of + ")"
		}
		sum += strings.TrimSpace(of + " " + term.Block)
		if term.Untrained {
			sum += ", untrained"
		}
	}
	return strings.TrimSpace(sum)
}

// sums are a weighted sum of a quantity in each seed in which all terms were measured, and the sum of its squared weights. Rows of one seed share
// initial values, image order and augmentation, so that their differences are paired.
func (p *Profile) sums(quantity experiments.Quantity, terms []experiments.Term) (values []float64, squaredWeights float64) {
	for _, term := range merged(terms) {
		squaredWeights += term.Weight * term.Weight
	}
	for _, first := range p.rows[terms[0].Experiment].Records {
		sum, measured := 0.0, true
		for _, term := range terms {
			of := p.rows[term.Experiment].Records
			at := slices.IndexFunc(of, func(r record.Record) bool { return r.Run.Seed == first.Run.Seed })
			if at < 0 || of[at].Value(quantity, term) == nil {
				measured = false
				break
			}
			sum += term.Weight * *of[at].Value(quantity, term)
		}
		if measured {
			values = append(values, sum)
		}
	}
	return values, squaredWeights
}

// pool is the variance of a quantity between seeds, over the steps of a study: each row minus its base.
func (p *Profile) pool(study experiments.Study, quantity experiments.Quantity) (pool stats.Pool) {
	for _, e := range study.Experiments {
		if e.Base != "" {
			pool.Add(p.sums(quantity, step(e.Name, e.Base)))
		}
	}
	return pool
}

// Difference estimates how much a quantity of one experiment is above that of another one of its study, paired over seeds.
func (p *Profile) Difference(quantity experiments.Quantity, subject, base string) stats.Estimate {
	return p.pool(p.rows[subject].Study, quantity).Estimate(p.sums(quantity, step(subject, base)))
}

// estimates are those of a claim's expectations. Quantities of a network's blocks have the variance pooled over the expectations that are about
// the same quantity, others over the steps of the study.
func (p *Profile) estimates(study experiments.Study, claim experiments.Claim) (all []stats.Estimate) {
	for _, e := range claim.Expect {
		pool := p.pool(study, e.Quantity) // of nothing for a quantity of blocks
		for _, other := range claim.Expect {
			if e.Quantity.InBlock && other.Quantity == e.Quantity {
				pool.Add(p.sums(other.Quantity, other.Terms))
			}
		}
		all = append(all, pool.Estimate(p.sums(e.Quantity, e.Terms)))
	}
	return all
}
