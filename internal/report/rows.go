package report

import (
	"fmt"
	"math"
	"slices"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
)

// Row is a row of a study's table: an experiment in one setting, compared with its base and with the paper.
type Row struct {
	// Group holds the row's records.
	Group
	Experiment experiments.Experiment
	// Paper holds the paper's numbers; it is empty where the images are others than the paper's.
	Paper experiments.Paper
	// Base is the row's base, empty where it has none: of a number of sweeps, one sweep less. BaseCommand trains it.
	Base        experiments.Experiment
	BaseCommand string
	// Delta is the difference in test error to the base, in percentage points; its method is empty where the base is not recorded.
	Delta Measured
}

// Compared says whether the row has a base that is recorded.
func (r Row) Compared() bool { return r.Delta.measured() }

// Rows are the rows of a study in one of its settings, as far as they are recorded.
func (p *Profile) Rows(study experiments.Study, setting Setting) (rows []Row, err error) {
	for i, e := range study.Rows() {
		own, group := p.group(e.Name, setting)
		if group == nil {
			continue
		}
		if study.Report == experiments.Sweeps {
			if i := slices.IndexFunc(group, func(r record.Record) bool { return math.IsNaN(r.TrainLoss()) }); i >= 0 {
				return nil, fmt.Errorf("record %s does not say how large its penalty is: remove its file and run %s", group[i].ID, p.command(study, e.Name))
			}
		}
		row := Row{Group: group, Experiment: e}
		if dataset.OfThePaper(setting.Dataset.Name) {
			row.Paper = e.Paper
		}
		switch {
		case study.Report == experiments.Sweeps && i > 0:
			row.Base = study.Experiments[i-1]
		case e.Base != "":
			_, row.Base, _ = p.suite.Experiment(e.Base)
		}
		of, base := p.group(row.Base.Name, setting)
		row.BaseCommand = p.command(of, row.Base.Name)
		if base != nil {
			if row.Delta, err = p.difference(own, experiments.TestErr, group, base); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// group are the runs of an experiment on a setting's data set and machine, with its study; nil if there are none.
func (p *Profile) group(experiment string, setting Setting) (study experiments.Study, group Group) {
	study, _, err := p.suite.Experiment(experiment)
	if err != nil {
		return study, nil
	}
	for _, of := range p.settings[study.Name] {
		if of.name() == setting.name() {
			return study, of.Groups[experiment]
		}
	}
	return study, nil
}

// rowReport is how a kind of study reports its rows.
type rowReport struct {
	// summary ends the name of the CSV file with a line a row.
	summary string
	columns Columns[Row]
	// notes say what the columns mean.
	notes func(profile string, rows []Row) []string
	// draw adds the figures of the study's first setting.
	draw func(p *Profile, out output, study experiments.Study, setting Setting, rows []Row) ([]figure, error)
}

// reportRows adds the CSV file and the figures of a study, and returns its report for reading.
func (p *Profile) reportRows(out output, kind rowReport, study experiments.Study, settings []Setting) (d document, err error) {
	var all []Row
	d = document{name: study.Name, title: fmt.Sprintf("%s: %s, at profile `%s`", study.Name, study.About, p.Name), heading: study.About}
	for i, setting := range settings {
		rows, err := p.Rows(study, setting)
		if err != nil {
			return d, err
		}
		var runs []provenance
		for _, row := range rows {
			runs = append(runs, provenance{row.Group, len(row.Group), fmt.Sprintf("%s in %.0f s a run", row.Experiment.Title, row.seconds())})
		}
		b := block{setting: setting, table: kind.columns.table(rows), notes: append(provenanceNotes(runs), kind.notes(p.Name, rows)...)}
		if i == 0 {
			if b.figures, err = kind.draw(p, out, study, setting, rows); err != nil {
				return d, err
			}
		}
		all, d.blocks = append(all, rows...), append(d.blocks, b)
	}
	out[study.Name+kind.summary] = kind.columns.CSV(all)
	if study.Report == experiments.Sweeps {
		out[study.Name+".csv"] = epochColumns.CSV(epochRows(all))
	}
	return d, nil
}

// hasPaper says whether a number of the paper stands in one of the rows.
func hasPaper(rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Paper.TestErr != 0 })
}

// ofDelta is a column about the comparison with the base, empty where there is none.
func ofDelta(name, heading string, cell func(Row) string) Column[Row] {
	return Column[Row]{Name: name, Heading: heading, Number: true, Cell: func(r Row) string {
		if !r.Compared() {
			return ""
		}
		return cell(r)
	}}
}

// known is a number of the paper, NaN where it has none.
func known(paper float64) float64 {
	if paper == 0 {
		return math.NaN()
	}
	return paper
}
