package report

import (
	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// step are the terms of a row minus its base.
func step(subject, base string) []experiments.Term {
	return []experiments.Term{{Weight: 1, Experiment: subject}, {Weight: -1, Experiment: base}}
}

// squares is the sum of the squared weights. A term that stands twice has the sum of its weights.
func squares(terms []experiments.Term) (sum float64) {
	weights := map[experiments.Term]float64{}
	for _, term := range terms {
		weight := term.Weight
		term.Weight = 0
		before := weights[term]
		weights[term] += weight
		sum += weights[term]*weights[term] - before*before
	}
	return sum
}

// values are a weighted sum of a quantity in each seed in which all terms were measured: rows of one seed share initial values, image order and
// augmentation, so that their differences are paired.
func (p *Profile) values(quantity experiments.Quantity, terms []experiments.Term) (values []float64) {
	for _, first := range p.records(terms[0].Experiment) {
		sum, measured := 0.0, true
		for _, term := range terms {
			value, ok := p.value(quantity, term, first.Run.Seed)
			sum, measured = sum+term.Weight*value, measured && ok
		}
		if measured {
			values = append(values, sum)
		}
	}
	return values
}

// value is the quantity of one term in one seed; ok is false where it was not measured.
func (p *Profile) value(quantity experiments.Quantity, term experiments.Term, seed int) (value float64, ok bool) {
	for _, r := range p.records(term.Experiment) {
		if r.Run.Seed == seed {
			return r.Value(quantity, term)
		}
	}
	return 0, false
}

// records are those of an experiment's planned runs.
func (p *Profile) records(experiment string) []record.Record {
	if row, ok := p.rows[experiment]; ok {
		return row.Records
	}
	return nil
}

// pool is the variance of a quantity between seeds, over the steps of a study: each row minus its base.
func (p *Profile) pool(study experiments.Study, quantity experiments.Quantity) (pool stats.Pool) {
	for _, e := range study.Experiments {
		if e.Base != "" {
			terms := step(e.Name, e.Base)
			pool.Add(p.values(quantity, terms), squares(terms))
		}
	}
	return pool
}

// Difference estimates how much a quantity of one experiment is above that of another one of its study, paired over seeds.
func (p *Profile) Difference(quantity experiments.Quantity, subject, base string) stats.Estimate {
	var pool stats.Pool
	if row, ok := p.rows[subject]; ok {
		pool = p.pool(row.Study, quantity)
	}
	terms := step(subject, base)
	return pool.Estimate(p.values(quantity, terms), squares(terms))
}

// estimates are those of a claim's expectations. Quantities of a network's blocks have the variance pooled over the expectations that are about
// the same quantity, others over the steps of the study.
func (p *Profile) estimates(study experiments.Study, claim experiments.Claim) (all []stats.Estimate) {
	pools := map[experiments.Quantity]*stats.Pool{}
	for _, e := range claim.Expect {
		if pools[e.Quantity] == nil {
			pools[e.Quantity] = new(stats.Pool)
			if !e.Quantity.InBlock() {
				*pools[e.Quantity] = p.pool(study, e.Quantity)
			}
		}
		if e.Quantity.InBlock() {
			pools[e.Quantity].Add(p.values(e.Quantity, e.Terms), squares(e.Terms))
		}
	}
	for _, e := range claim.Expect {
		all = append(all, pools[e.Quantity].Estimate(p.values(e.Quantity, e.Terms), squares(e.Terms)))
	}
	return all
}
