package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

// scanPoint is a group of held-out runs in a scan: runs of an experiment that differ in one setting and in their seeds alone. others are the
// hyperparameters beside it in which they differ from the profile's.
type scanPoint struct {
	Group
	setting, others string
	value           float64
}

// leastPoints is the number of values that make a scan.
const leastPoints = 3

// scansColumns are those of scans.csv and of the page. Errors are in percent, means over the seeds.
var scansColumns = slices.Concat(
	Columns[scanPoint]{
		{Name: "setting", Heading: "setting", Cell: func(p scanPoint) string { return p.setting }},
		{Name: "experiment", Heading: "experiment", Cell: func(p scanPoint) string { return p.Group[0].Run.Experiment }},
		{Name: "width", Heading: "width", Number: true, Cell: func(p scanPoint) string { return strconv.Itoa(p.Group[0].Run.Width()) }},
		{Name: "value", Heading: "value", Number: true, Cell: func(p scanPoint) string { return strconv.FormatFloat(p.value, 'g', -1, 64) }},
		{Name: "differs", Heading: "other settings", Cell: func(p scanPoint) string { return p.others }},
		withStd[scanPoint]("train err. %", 2, trainErr), withStd[scanPoint]("held-out err. %", 2, testErr),
		{Heading: "seeds", Number: true, Cell: func(p scanPoint) string { return strconv.Itoa(len(p.Group)) }},
	},
	meanStd[scanPoint]("train_err", 2, trainErr), meanStd[scanPoint]("heldout_err", 2, testErr),
	originColumns[scanPoint](), closingColumns[scanPoint](),
)

// scans finds the scans among the held-out runs of the profile: by setting, each a list of curves of points.
func (p *Profile) scans() map[string][][]scanPoint {
	found := map[string][][]scanPoint{}
	// Curves of an experiment stand together, from the narrowest to the widest network.
	compare := func(a, b []scanPoint) int {
		runA, runB := a[0].Group[0].Run, b[0].Group[0].Run
		return cmp.Or(strings.Compare(runA.Experiment, runB.Experiment), cmp.Compare(runA.Width(), runB.Width()))
	}
	for setting := range experiments.Recipe {
		curves := map[string]map[float64]Group{} // by what the runs share
		for _, r := range p.Records {
			value, ok := r.Run.Settings.Number(setting)
			study, _, err := p.suite.Experiment(r.Run.Experiment)
			if !ok || r.Run.HeldOut == 0 || err != nil || study.Grid.Has(setting) { // reportGrids shows grids
				continue
			}
			shared := r.Run
			shared.Settings = maps.Clone(shared.Settings)
			delete(shared.Settings, setting)
			key := withoutSeed(shared)
			if curves[key] == nil {
				curves[key] = map[float64]Group{}
			}
			curves[key][value] = append(curves[key][value], r)
		}
		for _, key := range slices.Sorted(maps.Keys(curves)) {
			if len(curves[key]) < leastPoints {
				continue
			}
			var curve []scanPoint
			for _, value := range slices.Sorted(maps.Keys(curves[key])) {
				group := curves[key][value]
				curve = append(curve, scanPoint{group, setting, p.otherSettings(group[0].Run, setting), value})
			}
			found[setting] = append(found[setting], curve)
		}
		slices.SortStableFunc(found[setting], compare)
	}
	return found
}

// reportScans adds the scans: one CSV file for all, and a figure for each setting with a panel for each experiment and a curve for each
// width and length of training. It returns them for the page, a block for each setting.
func (p *Profile) reportScans(out output) (d document, err error) {
	scans := p.scans()
	d = document{name: "scans", heading: "Error of held-out training images against a setting"}
	var lines []scanPoint
	for _, setting := range slices.Sorted(maps.Keys(scans)) {
		points := slices.Concat(scans[setting]...)
		b := block{title: setting, table: scansColumns.table(points)}
		path := record.FiguresFolder + "/" + scanPrefix + setting
		panels := p.panels(setting, scans[setting])
		var first []plot.Chart
		for _, panel := range panels {
			first = append(first, panel.First())
		}
		drawn, err := plot.Charts(first...)
		if err != nil {
			return d, fmt.Errorf("drawing the scan of %s: %w", setting, err)
		}
		if err := out.add(path, drawn); err != nil {
			return d, err
		}
		f := figure{path: path + ".svg", title: setting}
		for _, panel := range panels {
			f.charts = append(f.charts, curvesChart(panel, panel.Title, percentages))
		}
		b.figures = []figure{f}
		lines, d.blocks = append(lines, points...), append(d.blocks, b)
	}
	if len(lines) > 0 {
		out[scansCSV] = scansColumns.CSV(lines)
	}
	return d, nil
}

// panels are the charts of a setting's scans, one an experiment.
func (p *Profile) panels(setting string, curves [][]scanPoint) (panels []plot.Chart) {
	for _, e := range p.suite.Experiments() {
		own := slices.DeleteFunc(slices.Clone(curves), func(points []scanPoint) bool { return points[0].Group[0].Run.Experiment != e.Name })
		panel := plot.Chart{Title: e.Title + ": held-out error", X: setting, Y: "error (% of the held-out images)", LogX: true}
		for _, points := range own {
			panel.LogX = panel.LogX && points[0].value > 0
			curve := plot.Curve{Name: p.scanName(setting, own, points)}
			for _, point := range points {
				curve.Points = append(curve.Points, point.point(point.value, testErr))
			}
			panel.Curves = append(panel.Curves, curve)
		}
		if len(own) > 0 && !slices.ContainsFunc(own, func(points []scanPoint) bool { return scanData(points) != scanData(own[0]) }) {
			panel.Title += "\n" + scanData(own[0])
		}
		slices.SortStableFunc(panel.Curves, func(a, b plot.Curve) int { return cmp.Compare(len(a.Name), len(b.Name)) })
		if len(panel.Curves) > 0 {
			panels = append(panels, panel)
		}
	}
	return panels
}

// scanData names the data set of a curve.
func scanData(points []scanPoint) string { return dataset.Title(points[0].Group[0].Run.Dataset.Name) }

// scanName names a curve among the others of its experiment: its width and length, what differs from the profile's settings, and where
// these curves differ in it, the data set, the machine, and the number of held-out images.
func (p *Profile) scanName(setting string, all [][]scanPoint, points []scanPoint) string {
	run := points[0].Group[0].Run
	name := fmt.Sprintf("width %d, %s of %d images", run.Width(), plural(run.Epochs, "epoch"), run.TrainImages)
	if points[0].others != "" {
		name += ", " + points[0].others
	}
	for _, of := range []func([]scanPoint) string{
		scanData,
		func(points []scanPoint) string { return points[0].Group[0].Run.Machine.String() },
		func(points []scanPoint) string { return fmt.Sprintf("%d held out", points[0].Group[0].Run.HeldOut) },
		func(points []scanPoint) string { return fmt.Sprintf("version %d", points[0].Group[0].Run.Version) },
	} {
		if own := of(points); slices.ContainsFunc(all, func(other []scanPoint) bool { return of(other) != own }) {
			name += ", " + own
		}
	}
	return name
}

// otherSettings are the hyperparameters, but for one, in which a run differs from what its profile declares.
func (p *Profile) otherSettings(run experiments.Run, but string) string {
	differences := slices.DeleteFunc(p.suite.Differences(run), func(difference string) bool {
		name := differenceIn(difference)
		_, isSetting := experiments.Recipe[name]
		return name == but || !isSetting
	})
	return strings.Join(differences, ", ")
}
