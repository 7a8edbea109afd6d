package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

// gridPoint is a group of held-out runs at a point of their study's grid.
type gridPoint struct {
	Group
	study experiments.Study
	point experiments.Settings
	// best of the experiment's points; only known where all points are recorded.
	best bool
}

// gridColumns are those of grid.csv. Errors are in percent, means over the seeds.
var gridColumns = slices.Concat(
	Columns[gridPoint]{
		{Name: "study", Cell: func(p gridPoint) string { return p.study.Name }},
		of[gridPoint]("experiment", func(r record.Record) string { return r.Run.Experiment }),
		of[gridPoint]("width", func(r record.Record) string { return strconv.Itoa(r.Run.Width()) }),
		{Name: "settings", Cell: func(p gridPoint) string { return p.point.String() }},
	},
	meanStd[gridPoint]("train_err", 2, trainErr), meanStd[gridPoint]("heldout_err", 2, testErr),
	Columns[gridPoint]{{Name: "best", Cell: func(p gridPoint) string { return strconv.FormatBool(p.best) }}},
	originColumns[gridPoint](), closingColumns[gridPoint](),
)

// grid returns the recorded points of a study's grid at the profile's scale, by experiment in the order of their declaration.
func (p *Profile) grid(study experiments.Study) (byExperiment [][]gridPoint) {
	if study.Grid == nil {
		return nil // Points of no grid are one, the recipe: a held-out run of it is no choice among several
	}
	for _, e := range study.Experiments {
		points := p.gridPoints(study, e)
		if len(points) == 0 {
			continue
		}
		slices.SortFunc(points, func(a, b gridPoint) int { return comparePoints(study.Grid, a.point, b.point) })
		if len(points) == len(study.Grid.Points()) {
			best := slices.MinFunc(points, func(a, b gridPoint) int { return cmp.Compare(a.Sample(testErr).Mean, b.Sample(testErr).Mean) })
			for i := range points {
				points[i].best = points[i].point.String() == best.point.String()
			}
		}
		byExperiment = append(byExperiment, points)
	}
	return byExperiment
}

// gridPoints are an experiment's recorded points, of the data set, machine and number of held-out images that have most.
func (p *Profile) gridPoints(study experiments.Study, e experiments.Experiment) (most []gridPoint) {
	bySetting := map[string][]gridPoint{}
	for _, r := range p.Records {
		if r.Run.Experiment != e.Name || r.Run.HeldOut == 0 {
			continue
		}
		setting, recorded := fmt.Sprint(r.Run.Dataset, r.Run.Machine, r.Run.HeldOut), withoutSeed(r.Run)
		for _, point := range study.Grid.Points() {
			planned, err := experiments.Plan(e.AtGrid(), p.Name, p.declared.Scale(study), r.Run.Dataset, r.Run.Machine,
				experiments.Overrides{Seeds: 1, HeldOut: r.Run.HeldOut, Settings: point})
			if err != nil || withoutSeed(planned[0]) != recorded {
				continue
			}
			points := bySetting[setting]
			at := slices.IndexFunc(points, func(other gridPoint) bool { return other.point.String() == point.String() })
			if at < 0 {
				at, points = len(points), append(points, gridPoint{study: study, point: point})
			}
			points[at].Group = append(points[at].Group, r)
			bySetting[setting] = points
		}
	}
	for _, setting := range slices.Sorted(maps.Keys(bySetting)) {
		if len(bySetting[setting]) > len(most) {
			most = bySetting[setting]
		}
	}
	return most
}

// comparePoints orders points of a grid by its axes.
func comparePoints(grid experiments.Grid, a, b experiments.Settings) int {
	for _, axis := range grid {
		x, _ := a.Number(axis.Setting)
		y, _ := b.Number(axis.Setting)
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// Chosen are the settings with the smallest held-out error in the grid of a study, by experiment; it lacks experiments of which a point
// is not recorded.
func (p *Profile) Chosen(study experiments.Study) map[string]experiments.Settings {
	chosen := map[string]experiments.Settings{}
	for _, points := range p.grid(study) {
		for _, point := range points {
			if point.best {
				chosen[point.Group[0].Run.Experiment] = point.point
			}
		}
	}
	return chosen
}

// reportGrids adds grid.csv with all points of all grids, and for each axis of a grid a figure: the held-out error against the setting,
// each experiment with the best of the other settings.
func (p *Profile) reportGrids(out output) error {
	var lines []gridPoint
	for _, study := range p.suite {
		byExperiment := p.grid(study)
		for _, points := range byExperiment {
			lines = append(lines, points...)
		}
		complete := slices.DeleteFunc(byExperiment, func(points []gridPoint) bool { return len(points) < len(study.Grid.Points()) })
		for _, axis := range study.Grid {
			if len(complete) == 0 {
				continue
			}
			drawn, err := p.gridChart(axis, complete).First().Draw()
			if err != nil {
				return fmt.Errorf("drawing the grid of %s: %w", study.Name, err)
			}
			if err := out.add(record.FiguresFolder+"/"+gridFigure(study, axis), drawn); err != nil {
				return err
			}
		}
	}
	if len(lines) > 0 {
		out[gridCSV] = gridColumns.CSV(lines)
	}
	return nil
}

// gridFigure is the name of the figure of an axis.
func gridFigure(study experiments.Study, axis experiments.Axis) string {
	return study.Name + "_grid_" + axis.Setting
}

// gridChart draws the smallest held-out error at each value of an axis, a curve for each experiment.
func (p *Profile) gridChart(axis experiments.Axis, byExperiment [][]gridPoint) plot.Chart {
	first := byExperiment[0][0]
	chart := plot.Chart{
		X: axis.Setting, Y: "error (% of the held-out images)", LogX: true,
		Title: fmt.Sprintf("%s: held-out error, best over the other settings\n%s, %s", first.study.Name,
			dataset.Title(first.Group[0].Run.Dataset.Name), plural(first.Group[0].Run.Epochs, "epoch")),
	}
	for _, points := range byExperiment {
		curve := plot.Curve{Name: p.suite.Title(points[0].Group[0].Run.Experiment)}
		best := map[float64]plot.Point{}
		for _, point := range points {
			x, _ := point.point.Number(axis.Setting)
			chart.LogX = chart.LogX && x > 0
			if at, ok := best[x]; !ok || point.Sample(testErr).Mean < at.Mean {
				best[x] = point.Group.point(x, testErr)
			}
		}
		for _, at := range best {
			curve.Points = append(curve.Points, at)
		}
		slices.SortFunc(curve.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
		chart.Curves = append(chart.Curves, curve)
	}
	chart.Log = spansDecade(chart.Curves)
	return chart
}
