package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// Files in the folder of all results.
const (
	paperCSV = "paper.csv"
	// errorsName is the name of the overview of test errors, as CSV and as a figure.
	errorsName = "errors"
)

// WriteAll writes the reports of all profiles, see [Write], and the overview; it returns the profiles. It waits while another process does.
func WriteAll(ctx context.Context, results string, suite experiments.Suite) (profiles []*Profile, err error) {
	_, noLock := os.Stat(filepath.Join(results, lockFile))
	unlock, err := lock(ctx, results)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, profile := range experiments.Profiles {
		p, err := Write(ctx, results, profile.Name, suite)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	out, err := overview(suite, profiles)
	if err != nil {
		return nil, err
	}
	if err := out.write(results); err != nil || noLock != nil {
		return profiles, err // nothing to remove: no reports were written here before
	}
	return profiles, out.removeOthers(results, errorsName+".csv", errorsName+".svg", errorsName+".png")
}

// overview is what belongs to no profile, for the folder of all results: paper.csv, the numbers that the paper reports, and the test errors of
// all profiles against the hours of training, errors.csv and errors.svg.
func overview(suite experiments.Suite, profiles []*Profile) (output, error) {
	out := output{paperCSV: paperColumns.CSV(suite.PaperNumbers())}
	var rows []RunsRow
	for _, p := range profiles {
		if p.declared.Demo {
			continue
		}
		for _, row := range p.Runs() {
			if inOverview(suite, row.Group[0].Run) && row.onlyScaled() {
				rows = append(rows, row)
			}
		}
	}
	if len(rows) > 0 {
		out[errorsName+".csv"] = errorsColumns.CSV(rows)
		drawn, err := plot.Charts(errorsCharts(suite, rows)...)
		if err != nil {
			return nil, fmt.Errorf("drawing the overview of errors: %w", err)
		}
		if err := out.add(errorsName, drawn); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// paperColumns are those of paper.csv.
var paperColumns = Columns[experiments.Number]{
	{Name: "experiment", Cell: func(n experiments.Number) string { return n.Experiment }},
	{Name: "quantity", Cell: func(n experiments.Number) string { return n.Quantity }},
	{Name: "value", Cell: func(n experiments.Number) string { return n.Value }},
	{Name: "where", Cell: func(n experiments.Number) string { return n.Where }},
}

// errorsColumns are those of errors.csv. Errors are in percent, means over the seeds; hours are those of one run, see
// [RunsRow.processorHours].
var errorsColumns = slices.Concat(
	Columns[RunsRow]{
		of[RunsRow]("experiment", func(r record.Record) string { return r.Run.Experiment }),
		of[RunsRow]("width", func(r record.Record) string { return strconv.Itoa(r.Run.Width()) }),
		of[RunsRow]("optimizer", func(r record.Record) string { return fmt.Sprint(r.Run.Settings[experiments.ParamOptimizer]) }),
		{Name: "hours", Cell: func(r RunsRow) string { return decimals(r.processorHours(), 3) }},
	},
	meanStd[RunsRow]("train_err", 2, trainErr), meanStd[RunsRow]("test_err", 2, testErr),
	Columns[RunsRow]{{Name: "differs", Cell: RunsRow.differs}},
	originColumns[RunsRow](), closingColumns[RunsRow](),
)

// processorHours are the hours that a run of the group took times the processors that it had, the median over the seeds. A processor is a
// core, or a device if another than the CPU computed.
func (r RunsRow) processorHours() float64 {
	return stats.Median(r.values(func(r record.Record) float64 {
		processors := r.Run.Machine.Devices
		if r.Run.Machine.OnCPU() {
			processors = r.Origin.Cores
		}
		return r.Seconds * float64(processors) / 3600
	}))
}

// inOverview says whether a run belongs to the overview: a row of the paper's table, or of a study like it, that was trained on all
// training images and measured on all test images, which may stand beside the paper's.
func inOverview(suite experiments.Suite, run experiments.Run) bool {
	study, _, err := suite.Experiment(run.Experiment)
	return err == nil && study.Report == experiments.Rows && (!study.Ablation || study.LikeTable) && run.HeldOut == 0 &&
		run.TrainImages == run.Dataset.Train && run.TestImages == run.Dataset.Test && dataset.OfThePaper(run.Dataset.Name)
}

// onlyScaled says whether the runs differ from the profile's own in their width and epochs alone.
func (r RunsRow) onlyScaled() bool {
	return !slices.ContainsFunc(r.Differences, func(difference string) bool {
		name := differenceIn(difference)
		return name != "width" && name != "epochs"
	})
}

// otherWidth says whether the runs have another width than the profile.
func (r RunsRow) otherWidth() bool {
	return slices.ContainsFunc(r.Differences, func(difference string) bool { return differenceIn(difference) == "width" })
}

// errorsCharts are the test errors against the hours of training, a chart for each machine: a curve for each row, through runs at the
// profiles' widths, a curve for each other width of it, and a line for each of the paper's errors. They show the data set that comes first,
// see ranks.
func errorsCharts(suite experiments.Suite, rows []RunsRow) (charts []plot.Chart) {
	of := func(row RunsRow) experiments.Run { return row.Group[0].Run }
	shown := of(slices.MinFunc(rows, func(a, b RunsRow) int { return cmp.Compare(ranks[of(a).Dataset.Name], ranks[of(b).Dataset.Name]) })).Dataset
	rows = slices.DeleteFunc(slices.Clone(rows), func(row RunsRow) bool { return of(row).Dataset != shown })
	var machines []experiments.Machine
	for _, row := range rows {
		if machine := of(row).Machine; !slices.Contains(machines, machine) {
			machines = append(machines, machine)
		}
	}
	slices.SortFunc(machines, func(a, b experiments.Machine) int { return cmp.Compare(a.String(), b.String()) })
	for _, machine := range machines {
		hours := "hours of one core"
		if !machine.OnCPU() {
			hours = "hours of one device"
		}
		own := slices.DeleteFunc(slices.Clone(rows), func(row RunsRow) bool { return of(row).Machine != machine })
		var trained Group
		for _, row := range own {
			trained = append(trained, row.Group...)
		}
		if strings.Contains(trained.distinct(record.Origin.Processor), "+") {
			hours += ", of processors that differ"
		}
		chart := plot.Chart{
			Title: fmt.Sprintf("Test error against the hours of training, %s\n(dots: a width and epochs, mean of the seeds; dashed: the paper)", machine),
			X:     hours, Y: "error (% of the test images)", LogX: true,
		}
		for _, e := range suite.Experiments() {
			curves := map[string][]plot.Point{}
			for _, row := range own {
				if of(row).Experiment != e.Name {
					continue
				}
				name := e.Title
				if row.otherWidth() {
					name = fmt.Sprintf("%s, width %d", e.Title, of(row).Width())
				}
				// Without a band: it would narrow to nothing towards a point of one seed.
				curves[name] = append(curves[name], plot.At(row.processorHours(), row.Sample(testErr).Mean))
			}
			level := e.Paper.TestErr
			for _, name := range slices.Sorted(maps.Keys(curves)) {
				points := curves[name]
				slices.SortFunc(points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
				chart.Curves = append(chart.Curves, plot.Curve{Name: name, Points: points, Level: level})
				level = 0 // the paper's line once
			}
		}
		charts = append(charts, chart.First())
	}
	return charts
}
