package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// Comparison puts a study's rows in a profile's folder A beside those in B. Errors are in percent.
type Comparison struct {
	// Study by its name.
	Study string
	// Rows of both, in the order of their declaration.
	Rows []ComparedRow
	// OnlyA and OnlyB are experiments that the other one lacks.
	OnlyA, OnlyB []string
	// Refused are experiments of both that are of different data sets, with what differs.
	Refused []string
}

// ComparedRow is an experiment in A and in B, on the same data set.
type ComparedRow struct {
	// Experiment and data set by their names.
	Experiment, Dataset string
	// Train and Test are the errors in percent.
	Train, Test Difference
	// Interval of the difference in test error, in percentage points, and its method: Welch's over seeds, where both rows are means over several
	// seeds that vary; Bonett and Price's, where both are of the same single seed; else Newcombe's, for which a mean over seeds counts as one
	// model. The last two are over the test images and leave out how much seeds vary.
	Interval stats.Interval
	Method   string
	// Changes says what else differs in how the rows were trained, such as "backend xla-cpu → go".
	Changes []string
}

// Difference is a number in A and in B.
type Difference struct{ A, B float64 }

// Value is the number in B minus the one in A.
func (d Difference) Value() float64 { return d.B - d.A }

// Verdicts about a row's test error in B.
const (
	Better = "better" // It is lower, beyond the interval.
	Worse  = "worse"  // It is higher, beyond the interval.
	Within = "within" // The interval holds zero.
)

// Verdict is one of the constants above.
func (r ComparedRow) Verdict() string {
	switch {
	case r.Interval.Low > 0:
		return Worse
	case r.Interval.High < 0:
		return Better
	default:
		return Within
	}
}

// Compare compares the own rows in the folders of one profile, A and B, from their records. It compares rows of the same data set
// alone. Records of older versions of this program count as their profile's own where the settings are the same. It is an error
// where the profiles differ and where no row can be compared, but none where one of the folders lacks a row.
func Compare(a, b string, suite experiments.Suite) ([]Comparison, error) {
	studiesA, profileA, err := loadFolder(a, suite)
	if err != nil {
		return nil, err
	}
	studiesB, profileB, err := loadFolder(b, suite)
	if err != nil {
		return nil, err
	}
	if profileA != profileB {
		return nil, fmt.Errorf("%s is of profile %s and %s of profile %s: compare two folders of one profile", a, profileA, b, profileB)
	}
	var all []Comparison
	var refused []string
	found := false
	for _, study := range suite {
		if len(studiesA[study.Name])+len(studiesB[study.Name]) == 0 {
			continue
		}
		c, err := compareStudies(study, studiesA[study.Name], studiesB[study.Name])
		if err != nil {
			return nil, err
		}
		all, refused, found = append(all, c), append(refused, c.Refused...), found || len(c.Rows) > 0
	}
	switch {
	case found:
		return all, nil
	case len(refused) > 0:
		return nil, fmt.Errorf("%s and %s have no row of the same data set: %s", a, b, strings.Join(refused, "; "))
	default:
		return nil, fmt.Errorf("%s and %s have no row in common: compare two folders of one profile, such as results/quick", a, b)
	}
}

// loadFolder reads the records in the folder of a profile, which may have any name, and sorts them by study and setting.
func loadFolder(folder string, suite experiments.Suite) (settings map[string][]Setting, profile string, err error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, "", fmt.Errorf("nothing to compare: %w; name the folder of a profile, such as results/quick", cmp.Or(err, errors.New(folder+" is not a folder")))
	}
	records, err := record.LoadAll(filepath.Join(folder, record.Folder))
	if err != nil {
		return nil, "", err
	}
	if len(records) == 0 {
		return nil, "", fmt.Errorf("%s has no records to compare: name the folder of a profile, such as results/quick", folder)
	}
	profile = records[0].Run.Profile
	for _, r := range records {
		if r.Run.Profile != profile {
			return nil, "", fmt.Errorf("%s holds records of profiles %s and %s (%s): give each profile a folder", folder, profile, r.Run.Profile, r.ID)
		}
	}
	records = slices.DeleteFunc(records, func(r record.Record) bool { return !sameScale(suite, r.Run) })
	settings, err = sortIntoSettings(suite, newest(records), func(record.Record) bool { return true })
	return settings, profile, err
}

// sameScale says whether a run has its profile's own settings, whatever the version of the program and its network.
func sameScale(suite experiments.Suite, run experiments.Run) bool {
	_, e, err := suite.Experiment(run.Experiment)
	if err != nil {
		return false
	}
	run.Version, run.Network, run.Traced = experiments.Version, e.Network(run.Width()), e.Traced
	return len(suite.Differences(run)) == 0
}

// newest are, of each experiment on a data set and a machine, the records of the newest version of the program, and of each seed the last.
// Seeds of several versions are never put together.
func newest(records []record.Record) (kept []record.Record) {
	sorted := slices.Clone(records)
	slices.SortFunc(sorted, func(a, b record.Record) int {
		return cmp.Or(b.Run.Version-a.Run.Version, b.Finished.Compare(a.Finished), strings.Compare(a.ID, b.ID))
	})
	type row struct {
		experiment string
		dataset    experiments.Dataset
		machine    experiments.Machine
	}
	versions, seen := map[row]int{}, map[row]map[int]bool{}
	for _, r := range sorted {
		of := row{r.Run.Experiment, r.Run.Dataset, r.Run.Machine}
		if seen[of] == nil {
			versions[of], seen[of] = r.Run.Version, map[int]bool{}
		}
		if versions[of] == r.Run.Version && !seen[of][r.Run.Seed] {
			seen[of][r.Run.Seed], kept = true, append(kept, r)
		}
	}
	return kept
}

// compareStudies compares the rows of a study.
func compareStudies(study experiments.Study, a, b []Setting) (c Comparison, err error) {
	c.Study = study.Name
	for _, e := range study.Experiments {
		lacks := func(s Setting) bool { return s.Groups[e.Name] == nil }
		ofA, ofB := slices.DeleteFunc(slices.Clone(a), lacks), slices.DeleteFunc(slices.Clone(b), lacks)
		switch same := sameDatasets(ofA, ofB); {
		case len(same) > 0:
			for _, of := range same {
				row, err := compareGroups(e.Name, of.a.Groups[e.Name], of.b.Groups[e.Name])
				if err != nil {
					return c, err
				}
				c.Rows = append(c.Rows, row)
			}
		case len(ofA) > 0 && len(ofB) > 0:
			c.Refused = append(c.Refused, fmt.Sprintf("%s is of %s in A and of %s in B", e.Name, datasetTitle(ofA[0].Dataset), datasetTitle(ofB[0].Dataset)))
		case len(ofA) > 0:
			c.OnlyA = append(c.OnlyA, e.Name)
		case len(ofB) > 0:
			c.OnlyB = append(c.OnlyB, e.Name)
		}
	}
	return c, nil
}

// settings is a setting of A and one of B.
type settings struct{ a, b Setting }

// sameDatasets finds for each data set that A and B have a setting of each, on the same machine if there is one.
func sameDatasets(a, b []Setting) (same []settings) {
	for _, sameMachine := range []bool{true, false} {
		for _, x := range a {
			for _, y := range b {
				found := slices.ContainsFunc(same, func(s settings) bool { return s.a.Dataset == x.Dataset })
				if x.Dataset == y.Dataset && (x.Machine == y.Machine || !sameMachine) && !found {
					same = append(same, settings{x, y})
				}
			}
		}
	}
	return same
}

// compareGroups compares the runs of an experiment on one data set.
func compareGroups(experiment string, a, b Group) (ComparedRow, error) {
	r := ComparedRow{
		Experiment: experiment, Dataset: a[0].Run.Dataset.Name,
		Train: Difference{a.Sample(trainErr).Mean, b.Sample(trainErr).Mean},
		Test:  Difference{a.Sample(testErr).Mean, b.Sample(testErr).Mean},
	}
	var err error
	if r.Interval, r.Method, err = compareInterval(a, b); err != nil {
		return r, err
	}
	for _, origin := range []struct {
		name string
		of   func(Group) string
	}{
		{"version", func(g Group) string { return strconv.Itoa(g[0].Run.Version) }},
		{"backend", func(g Group) string { return g[0].Run.Machine.String() }},
		{"seeds", func(g Group) string { return strconv.Itoa(len(g)) }},
		{"params", func(g Group) string { return strconv.Itoa(g[0].Parameters) }},
		{"commit", Group.Commits},
	} {
		if x, y := origin.of(a), origin.of(b); x != y {
			r.Changes = append(r.Changes, fmt.Sprintf("%s %s → %s", origin.name, x, y))
		}
	}
	return r, nil
}

// compareInterval is the interval of the difference in test error, in percentage points, with its method.
func compareInterval(a, b Group) (stats.Interval, string, error) {
	m, err := difference(experiments.TestErr, b, a)
	if err != nil {
		return stats.Interval{}, "", err
	}
	if m.Method == MethodNone {
		proportion := func(g Group) stats.Proportion {
			return stats.Proportion{Rate: g.Sample(testErr).Mean / 100, Of: g[0].Run.TestImages}
		}
		m.Interval, m.Method, m.Count = stats.Newcombe(proportion(a), proportion(b)).Scaled(100), MethodBinomial, a[0].Run.TestImages
	}
	return m.Interval, m.Method.Text(m.Count), nil
}

// comparedColumns are those of a comparison on a terminal.
var comparedColumns = Columns[ComparedRow]{
	{Heading: "experiment", Cell: func(r ComparedRow) string { return r.Experiment }},
	{Heading: "data set", Cell: func(r ComparedRow) string { return r.Dataset }},
	{Heading: "train A", Cell: func(r ComparedRow) string { return percent(r.Train.A) }},
	{Heading: "B", Cell: func(r ComparedRow) string { return percent(r.Train.B) }},
	{Heading: "B−A", Cell: func(r ComparedRow) string { return fmt.Sprintf("%+.2f", r.Train.Value()) }},
	{Heading: "test A", Cell: func(r ComparedRow) string { return percent(r.Test.A) }},
	{Heading: "B", Cell: func(r ComparedRow) string { return percent(r.Test.B) }},
	{Heading: "B−A", Cell: func(r ComparedRow) string { return fmt.Sprintf("%+.2f", r.Test.Value()) }},
	{Heading: "interval", Cell: func(r ComparedRow) string { return fmt.Sprintf("%+.2f to %+.2f", r.Interval.Low, r.Interval.High) }},
	{Heading: "method", Cell: func(r ComparedRow) string { return r.Method }},
	{Heading: "verdict", Cell: ComparedRow.Verdict},
}

// Text is the comparison for a terminal: its rows, then what else differs, what was refused, and what only one side has.
func (c Comparison) Text() string {
	text := c.Study + ": errors in percent, differences and 95 % intervals in percentage points\n"
	if len(c.Rows) > 0 {
		text += comparedColumns.Text(c.Rows)
	}
	var changes []string
	names := map[string][]string{}
	for _, row := range c.Rows {
		change := strings.Join(row.Changes, ", ")
		if change != "" && !slices.Contains(changes, change) {
			changes = append(changes, change)
		}
		names[change] = append(names[change], row.Experiment)
	}
	for _, change := range changes {
		text += fmt.Sprintf("changed: %s (%s)\n", change, strings.Join(names[change], ", "))
	}
	for _, refused := range c.Refused {
		text += "not compared: " + refused + "\n"
	}
	if len(c.OnlyA) > 0 {
		text += "only in A: " + strings.Join(c.OnlyA, ", ") + "\n"
	}
	if len(c.OnlyB) > 0 {
		text += "only in B: " + strings.Join(c.OnlyB, ", ") + "\n"
	}
	return text
}

// WorseRows names the rows of comparisons that are worse in B, beyond the interval.
func WorseRows(all []Comparison) (names []string) {
	for _, c := range all {
		for _, row := range c.Rows {
			if row.Verdict() == Worse {
				names = append(names, c.Study+" "+row.Experiment)
			}
		}
	}
	return names
}
