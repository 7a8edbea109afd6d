package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// comparison is a row and what it is compared with. adds says what the row adds to its base; it is
// empty where no declaration says so.
type comparison struct {
	adds          string
	subject, base Row
}

// comparisons returns the rows of a study with their bases, with records or without. Those of the
// headline end in the paper's last row minus its first: the proposed model minus the baseline.
func (p *Results) comparisons(study experiments.Study) (all []comparison) {
	var ofPaper []Row
	for _, e := range study.Experiments {
		row := p.rows[e.Name]
		if base, ok := p.rows[e.Base]; ok && row.reported() {
			all = append(all, comparison{e.Adds, row, base})
		}
		if row.Paper.TestErr != 0 {
			ofPaper = append(ofPaper, row)
		}
	}
	if study.Headline && len(ofPaper) > 2 {
		all = append(all, comparison{"all steps", ofPaper[len(ofPaper)-1], ofPaper[0]})
	}
	return all
}

// Differences returns the differences in test error between the rows of a study: the paper's, those
// of these results, and those of others. Titles of columns say how many seeds there are. Where
// seeds are missing no cell is bold. Results without records have no differences.
func (p *Results) Differences(study experiments.Study, others ...*Results) Table {
	t := Table{Name: study.Name + "-differences", Columns: []Column{
		{}, {Title: "difference in test error, points"}, {Name: "experiment"}, {Name: "base"},
		{Name: "paper", Kind: Interval},
	}} // the first column has short names, for charts and [Results.Brief]
	t.Notes = []string{"Below 0: fewer errors. In brackets: 95 % intervals, ours over seeds and test " +
		"images together (of one seed, over images alone). Bold: the interval excludes 0, and no seed " +
		"is missing. Where seeds are missing, n says how many there are, and steps need not add up."}
	if study.Headline {
		t.Name = "differences"
	}
	comparisons := p.comparisons(study)
	for _, c := range comparisons {
		if !c.paper().empty() && t.Columns[4].Title == "" {
			t.Columns[4].Title = "the paper"
			t.Notes = append(t.Notes, "The paper's intervals are over its test images.")
		}
		title := c.subject.Title + " − " + c.base.Title
		name := cmp.Or(c.adds, title)
		if name != title {
			title = name + ": " + title
		}
		t.Rows = append(t.Rows, []Cell{text(name), text(title), text(c.subject.Name),
			text(c.base.Name), c.paper().boldIfClear()})
	}
	for _, results := range append([]*Results{p}, others...) {
		title := "ours, profile " + results.scaleOf(study)
		t.Columns = append(t.Columns, Column{Title: title, Name: "here", Kind: Interval},
			Column{Name: "over_seeds", Kind: Interval}, Column{Name: "seeds", Kind: Number})
		for i, c := range comparisons {
			overSeeds, both := results.Difference(c.subject.Name, c.base.Name)
			cell := interval(both, "%.2f").ofSeeds(both.N, results.Scales[study.Name].Seeds)
			if !cell.few {
				cell = cell.boldIfClear()
			}
			t.Rows[i] = append(t.Rows[i], cell, interval(overSeeds, "%.2f"), count(both.N))
		}
	}
	return t
}

// Brief returns what a terminal of 80 columns shows of a study: errors beside the paper's, and the
// differences that were measured here, by the names of their steps.
func (p *Results) Brief(study experiments.Study) []Table {
	errors, differences := p.Table(study), p.Differences(study)
	for i, column := range errors.Columns {
		if strings.Contains(column.Name, "parameters") || column.Name == "train_loss" {
			errors.Columns[i].Title = ""
		}
	}
	differences.Title, differences.Notes = "", nil
	differences.Columns[0].Title = differences.Columns[1].Title
	differences.Columns[1].Title = ""
	seedsColumn := len(differences.Columns) - 1
	differences.Rows = slices.DeleteFunc(differences.Rows, func(row []Cell) bool {
		return row[seedsColumn].value == 0
	})
	return []Table{errors, differences}
}

// paper returns the difference of the paper's test errors, with its interval over the test images;
// an empty cell where the paper lacks one of them.
func (c comparison) paper() Cell {
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
func (p *Results) Table(study experiments.Study) Table {
	t := Table{Name: study.Name, Title: p.describe(study), Columns: []Column{
		{Title: "model"}, {Name: "experiment"}, {Title: "test error %", Name: "test_err", Kind: Mean},
		{Title: "training error %", Name: "train_err", Kind: Mean},
		{Title: "training loss", Name: "train_loss", Kind: Mean},
		{Title: "parameters", Name: "parameters", Kind: Number},
		{Name: "paper_train_err", Kind: Number}, {Name: "paper_test_err", Kind: Number},
		{Name: "paper_parameters"},
		{Title: "seeds"}, {Name: "planned_seeds", Kind: Number}, {Name: "width", Kind: Number},
		{Name: "seconds", Kind: Mean},
	}}
	for _, row := range p.Rows(study) {
		var parameters, width Cell
		if len(row.Records) > 0 {
			parameters, width = count(row.Records[0].Parameters), count(row.Records[0].Run.Width())
		}
		t.Rows = append(t.Rows, []Cell{
			text(row.Title), text(row.Name), mean(row.Sample(experiments.TestErr), 2),
			mean(row.Sample(experiments.TrainErr), 2), mean(row.Sample(experiments.TrainLoss), 4),
			parameters, published(row.Paper.TrainErr), published(row.Paper.TestErr), text(row.Paper.Params),
			text(ofPlanned(row)), count(row.Planned), width,
			mean(stats.SampleOf(row.values(func(r record.Record) *float64 { return &r.Seconds })), 0),
		})
	}
	if note := p.processors(study); note != "" {
		t.Notes = []string{note}
	}
	return t.besidePaper()
}

// processors returns a note on the processors that trained a study's runs, where there are several:
// the same run has other numbers on each.
func (p *Results) processors(study experiments.Study) string {
	trained := map[string][]string{}
	for _, row := range p.Rows(study) {
		for _, r := range row.Records {
			on := cmp.Or(r.Origin.GPU, r.Origin.CPU)
			trained[on] = append(trained[on], fmt.Sprintf("%s seed %d", row.Name, r.Run.Seed))
		}
	}
	if len(trained) < 2 {
		return ""
	}
	var parts []string
	for _, on := range slices.Sorted(maps.Keys(trained)) {
		parts = append(parts, escaped(on)+" ("+strings.Join(trained[on], ", ")+")")
	}
	return "Trained on several processors, which round differently: " + strings.Join(parts, "; ") + "."
}

// published is a number of the paper, empty where it has none.
func published(value float64) Cell { return number(cmp.Or(value, math.NaN()), 2) }
