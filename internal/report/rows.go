package report

import (
	"slices"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// compared is a row and what it is compared with.
type compared struct{ subject, base Row }

func (c compared) title() string { return c.subject.Title + " − " + c.base.Title }

// steps are the rows of a study with their bases. Those of the headline end in the paper's last row minus its first: the proposed model minus the
// baseline.
func (p *Profile) steps(study experiments.Study) (steps []compared) {
	var ofPaper []Row
	for _, row := range p.Rows(study) {
		if base, ok := p.rows[row.Base]; ok {
			steps = append(steps, compared{row, base})
		}
		if row.Paper.TestErr != 0 {
			ofPaper = append(ofPaper, row)
		}
	}
	if study.Name == p.Headline && len(ofPaper) > 2 {
		steps = append(steps, compared{ofPaper[len(ofPaper)-1], ofPaper[0]})
	}
	return steps
}

// Differences are those in test error between the rows of a study, beside the paper's.
func (p *Profile) Differences(study experiments.Study) Table {
	t := Table{Name: study.Name + "-differences", Columns: []Column{
		{Title: "difference"}, {Name: "experiment"}, {Name: "base"},
		{Title: "paper (95 % interval over its test images)", Name: "paper", Kind: Interval},
		{Title: "here (95 % interval over seeds)", Name: "here", Kind: Interval},
		{Name: "standard_error", Kind: Number}, {Name: "degrees", Kind: Number}, {Title: "seeds", Name: "seeds", Kind: Number},
	}, Notes: []string{"Differences are in test error, in percentage points: below 0 the first row is better. Bold: the interval does not hold 0."}}
	if study.Name == p.Headline {
		t.Name, t.Title = "differences", p.describe(study)
	}
	for _, c := range p.steps(study) {
		here := p.Difference(experiments.TestErr, c.subject.Name, c.base.Name)
		t.Rows = append(t.Rows, []Cell{
			text(c.title()), text(c.subject.Name), text(c.base.Name), c.paper().marked(), estimated(here, decimals(2)).marked(),
			known(here.Error, here, 4), known(here.Degrees, here, 0), count(here.N),
		})
	}
	return t
}

// known is a number of an estimate's error, empty where the error is not known.
func known(value float64, of stats.Estimate, digits int) Cell {
	if !of.Known() {
		return Cell{}
	}
	return number(value, digits)
}

// paper is the difference of the paper's test errors, with its interval over the test images; empty where the paper lacks one of them.
func (c compared) paper() Cell {
	subject, base := c.subject.Paper.TestErr, c.base.Paper.TestErr
	if subject == 0 || base == 0 {
		return Cell{}
	}
	half := 100 * stats.Proportions(subject/100, base/100, c.subject.Study.Images.Declared().Test)
	return between(subject-base, subject-base-half, subject-base+half, decimals(2))
}

// Table has the rows of a study: errors beside the paper's.
func (p *Profile) Table(study experiments.Study) Table {
	t := Table{Name: study.Name, Title: p.describe(study), Columns: []Column{
		{Title: "model"}, {Name: "experiment"}, {Title: "training loss", Name: "train_loss", Kind: Mean},
		{Title: "training error %", Name: "train_err", Kind: Mean}, {Title: "test error %", Name: "test_err", Kind: Mean},
		{Title: "parameters", Name: "parameters", Kind: Number}, {Title: "paper: training error %", Name: "paper_train_err", Kind: Number},
		{Title: "paper: test error %", Name: "paper_test_err", Kind: Number}, {Title: "paper: parameters", Name: "paper_parameters"},
		{Title: "seeds"}, {Name: "planned_seeds", Kind: Number}, {Name: "width", Kind: Number}, {Name: "seconds", Kind: Number},
	}}
	for _, row := range p.Rows(study) {
		var parameters, width Cell
		if len(row.Records) > 0 {
			parameters, width = count(row.Records[0].Parameters), count(row.Records[0].Run.Width())
		}
		t.Rows = append(t.Rows, []Cell{
			text(row.Title), text(row.Name), mean(row.Sample(TrainLoss), 4), mean(row.Sample(TrainErr), 2), mean(row.Sample(TestErr), 2),
			parameters, paper(row.Paper.TrainErr), paper(row.Paper.TestErr), text(row.Paper.Params), text(row.seeds()), count(row.Planned),
			width, number(stats.Median(row.values(func(r record.Record) float64 { return r.Seconds })), 0),
		})
	}
	return t.withoutEmpty()
}

// withoutEmpty hides columns from readers that are empty in all rows.
func (t Table) withoutEmpty() Table {
	for i := range t.Columns {
		if !slices.ContainsFunc(t.Rows, func(row []Cell) bool { return !row[i].empty() }) {
			t.Columns[i].Title = ""
		}
	}
	return t
}
