package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
)

// RunsRow is a line of the list of runs: records that differ in their seed alone.
type RunsRow struct {
	// Group holds the line's records.
	Group
	// Differences from what the profile declares, such as "epochs=10"; none for the profile's own.
	Differences []string
	// command that trains them; empty where none does.
	command string
	// order of the experiment's declaration.
	order int
}

// pageColumns are those of the list of runs on the page. id is that of the run with the first seed. Errors are in percent, means over the
// seeds, and seconds the median. The error is either of the test images or of the held-out training images.
var pageColumns = Columns[RunsRow]{
	{Name: "experiment", Heading: "experiment", Cell: func(r RunsRow) string { return r.Group[0].Run.Experiment }},
	{Name: "id", Heading: "ID (first seed)", Cell: func(r RunsRow) string { return r.Group[0].ID }},
	{Name: "differs", Heading: "differs", Cell: RunsRow.differs},
	{Name: "dataset", Heading: "data set", Cell: func(r RunsRow) string { return r.Group[0].Run.Dataset.Name }},
	of[RunsRow]("dataset_sha256", func(r record.Record) string { return r.Run.Dataset.SHA256 }),
	{Name: "backend", Heading: "backend", Cell: func(r RunsRow) string { return r.Group[0].Run.Machine.String() }},
	{Name: "epochs", Heading: "epochs", Number: true, Cell: func(r RunsRow) string { return strconv.Itoa(r.Group[0].Run.Epochs) }},
	{Name: "train_err", Heading: "train err. %", Number: true, Cell: func(r RunsRow) string { return percent(r.Sample(trainErr).Mean) }},
	{Name: "test_err", Heading: "test err. %", Number: true, Cell: func(r RunsRow) string { return r.testErr(false) }},
	{Name: "heldout_err", Heading: "held-out err. %", Number: true, Cell: func(r RunsRow) string { return r.testErr(true) }},
	{Name: "seeds", Heading: "seeds", Number: true, Cell: func(r RunsRow) string { return strconv.Itoa(len(r.Group)) }},
	{Name: "seconds", Heading: "seconds", Number: true, Cell: func(r RunsRow) string { return decimals(r.seconds(), 0) }},
	{Name: "cpu", Cell: func(r RunsRow) string { return r.processors() }},
	{Name: "commit", Heading: "commit", Cell: func(r RunsRow) string { return r.Commits() }},
}

// runsColumns are those of the list of runs on a terminal and of trials.csv, too wide for the page. command trains all seeds.
var runsColumns = append(pageColumns[:len(pageColumns):len(pageColumns)],
	Column[RunsRow]{Name: "command", Heading: "command", Cell: func(r RunsRow) string { return r.command }})

// differs lists the differences for reading.
func (r RunsRow) differs() string { return strings.Join(r.Differences, ", ") }

// differenceIn names what a difference is in: "epochs" for "epochs=10".
func differenceIn(difference string) string {
	name, _, _ := strings.Cut(difference, "=")
	return name
}

// testErr is the mean error of the test images, or of held-out ones; empty where it was measured on the others.
func (r RunsRow) testErr(heldOut bool) string {
	if heldOut != (r.Group[0].Run.HeldOut > 0) {
		return ""
	}
	return percent(r.Sample(testErr).Mean)
}

// Runs lists all recorded runs, the profile's own and trials, in the order of the experiments' declaration.
func (p *Profile) Runs() (rows []RunsRow) {
	order := map[string]int{}
	for i, e := range p.suite.Experiments() {
		order[e.Name] = i - len(p.suite.Experiments()) // those that are not declared come last
	}
	at := map[string]int{}
	for _, r := range p.Records {
		key := withoutSeed(r.Run)
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key], rows = i, append(rows, RunsRow{Differences: p.suite.Differences(r.Run), order: order[r.Run.Experiment]})
		}
		rows[i].Group = append(rows[i].Group, r)
	}
	for i, row := range rows {
		row.Group.sort()
		rows[i].command = p.suite.Command(row.Group[len(row.Group)-1].Run)
	}
	slices.SortFunc(rows, func(a, b RunsRow) int {
		x, y := a.Group[0].Run, b.Group[0].Run
		return cmp.Or(a.order-b.order, strings.Compare(x.Experiment, y.Experiment), strings.Compare(a.differs(), b.differs()),
			strings.Compare(withoutSeed(x), withoutSeed(y)))
	})
	return rows
}

// withoutSeed describes all of a run but its seed.
func withoutSeed(run experiments.Run) string {
	run.Seed = 0
	return run.ID()
}

// RunsText is the list of all recorded runs as a table for a terminal.
func (p *Profile) RunsText() string { return runsColumns.Text(p.Runs()) }

// RunsCSV is the list of all recorded runs as CSV.
func (p *Profile) RunsCSV() []byte { return runsColumns.CSV(p.Runs()) }
