package report

import (
	"cmp"
	"math"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// compared is a row and what it is compared with; step says what differs, and is empty where no declaration does.
type compared struct {
	step          string
	subject, base Row
}

func (c compared) title() string { return c.subject.Title + " − " + c.base.Title }

// steps are the rows of a study with their bases, with records or without. Those of the headline end in the paper's last row minus its first: the
// proposed model minus the baseline.
func (p *Profile) steps(study experiments.Study) (steps []compared) {
	var ofPaper []Row
	for _, e := range study.Experiments {
		row := p.rows[e.Name]
		if base, ok := p.rows[e.Base]; ok {
			steps = append(steps, compared{e.Adds, row, base})
		}
		if row.Paper.TestErr != 0 {
			ofPaper = append(ofPaper, row)
		}
	}
	if study.Headline && len(ofPaper) > 2 {
		steps = append(steps, compared{"all steps", ofPaper[len(ofPaper)-1], ofPaper[0]})
	}
	return steps
}

// Differences are those in test error between the rows of a study, beside the paper's: of this profile, and of others. The heads say how many seeds
// there are. With fewer than planned nothing is told from 0. A single seed has no interval, and a profile without records has no differences.
func (p *Profile) Differences(study experiments.Study, others ...*Profile) Table {
	t := Table{Name: study.Name + "-differences", Columns: []Column{
		{}, {Title: "difference in test error, points"}, {Name: "experiment"}, {Name: "base"}, {Title: "the paper", Name: "paper", Kind: Interval},
	}}
	t.Notes = []string{"Below 0: fewer errors. In brackets: 95 % intervals over the paper's test images and over our seeds. " +
		"Bold: 0 is outside, and no seed is missing."}
	if study.Headline {
		t.Name = "differences"
	}
	steps := p.steps(study)
	for _, c := range steps {
		if c.step != "" {
			t.Columns[0].Title = "step"
		}
		t.Rows = append(t.Rows, []Cell{text(c.step), text(c.title()), text(c.subject.Name), text(c.base.Name), c.paper().marked()})
	}
	for _, of := range append([]*Profile{p}, others...) {
		t.Columns = append(t.Columns, Column{Title: of.scale(study), Name: "here", Kind: Interval}, Column{Name: "seeds", Kind: Number})
		for i, c := range steps {
			here := of.Difference(experiments.TestErr, c.subject.Name, c.base.Name)
			cell := estimated(here, "%.2f")
			if here.N == of.Scales[study.Name].Seeds {
				cell = cell.marked()
			}
			t.Rows[i] = append(t.Rows[i], cell, count(here.N))
		}
	}
	return t
}

// paper is the difference of the paper's test errors, with its interval over the test images; empty where the paper lacks one of them.
func (c compared) paper() Cell {
	subject, base := c.subject.Paper.TestErr, c.base.Paper.TestErr
	if subject == 0 || base == 0 {
		return Cell{}
	}
	half := 100 * stats.Proportions(subject/100, base/100, c.subject.Study.Images.Declared().Test)
	cell := number(subject-base, 2)
	cell.low, cell.high = cell.value-half, cell.value+half
	return cell
}

// Table has the rows of a study: errors beside the paper's.
func (p *Profile) Table(study experiments.Study) Table {
	t := Table{Name: study.Name, Title: p.describe(study), Columns: []Column{
		{Title: "model"}, {Name: "experiment"}, {Title: "training loss", Name: "train_loss", Kind: Mean},
		{Title: "training error %", Name: "train_err", Kind: Mean}, {Title: "test error %", Name: "test_err", Kind: Mean},
		{Title: "parameters", Name: "parameters", Kind: Number}, {Title: "paper: training error %", Name: "paper_train_err", Kind: Number},
		{Title: "paper: test error %", Name: "paper_test_err", Kind: Number}, {Title: "paper: parameters", Name: "paper_parameters"},
		{Title: "seeds"}, {Name: "planned_seeds", Kind: Number}, {Name: "width", Kind: Number}, {Name: "seconds", Kind: Mean},
	}}
	for _, row := range p.Rows(study) {
		var parameters, width Cell
		if len(row.Records) > 0 {
			parameters, width = count(row.Records[0].Parameters), count(row.Records[0].Run.Width())
		}
		t.Rows = append(t.Rows, []Cell{
			text(row.Title), text(row.Name), mean(row.Sample(experiments.TrainLoss), 4), mean(row.Sample(experiments.TrainErr), 2), mean(row.Sample(experiments.TestErr), 2),
			parameters, published(row.Paper.TrainErr), published(row.Paper.TestErr), text(row.Paper.Params), text(seeds(row)), count(row.Planned),
			width, mean(stats.SampleOf(row.values(func(r record.Record) float64 { return r.Seconds })), 0),
		})
	}
	return t.withoutEmpty()
}

// published is a number of the paper, empty where it has none.
func published(value float64) Cell { return number(cmp.Or(value, math.NaN()), 2) }
