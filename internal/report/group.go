package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// Quantities of a record.
var (
	trainErr  = func(r record.Record) float64 { return r.TrainErr }
	testErr   = func(r record.Record) float64 { return r.TestErr }
	trainLoss = record.Record.TrainLoss
)

// Sample is a quantity over the group's seeds. Its deviation is NaN for a single seed.
func (g Group) Sample(quantity func(record.Record) float64) stats.Sample {
	return stats.SampleOf(g.values(quantity))
}

// values of a quantity, one a seed.
func (g Group) values(quantity func(record.Record) float64) (values []float64) {
	for _, r := range g {
		values = append(values, quantity(r))
	}
	return values
}

// seconds that a run of the group took: the median over the seeds, since one of them may have had other work beside it.
func (g Group) seconds() float64 {
	return stats.Median(g.values(func(r record.Record) float64 { return r.Seconds }))
}

// Commits are those that the group's runs were trained with, with a + between them.
func (g Group) Commits() string { return g.distinct(func(o record.Origin) string { return o.Commit }) }

// processors that the group's runs were trained on.
func (g Group) processors() string {
	return g.distinct(func(o record.Origin) string {
		if o.GPU != "" {
			return o.GPU
		}
		return fmt.Sprintf("%s (%s)", o.CPU, plural(o.Cores, "core"))
	})
}

// distinct are the different origins of the group's runs.
func (g Group) distinct(of func(record.Origin) string) string {
	var all []string
	for _, r := range g {
		if text := of(r.Origin); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "+")
}

// curve is a quantity after each epoch: its mean, smallest and largest value over the seeds.
func (g Group) curve(name string, quantity func(record.Record, record.Epoch) float64) plot.Curve {
	curve := plot.Curve{Name: name}
	for i := range g[0].Curve {
		curve.Points = append(curve.Points, g.point(float64(i+1), func(r record.Record) float64 { return quantity(r, r.Curve[i]) }))
	}
	return curve
}

// point is a quantity at x: its mean, smallest and largest value over the seeds.
func (g Group) point(x float64, quantity func(record.Record) float64) plot.Point {
	values := g.values(quantity)
	return plot.Point{X: x, Mean: stat.Mean(values, nil), Low: floats.Min(values), High: floats.Max(values)}
}

// subtitle of a figure says of which images, profile and seeds it is. spread says how the figure shows the seeds, if it does.
func (p *Profile) subtitle(setting Setting, shown []Row, spread string) string {
	text := dataset.Title(setting.Dataset.Name) + ", profile " + p.Name
	if slices.ContainsFunc(shown, func(row Row) bool { return len(row.Group) > 1 }) {
		return text + ", mean over seeds" + spread
	}
	return text
}

// seedsBand is how curves show the seeds.
const seedsBand = " (band: range)"

// provenance is where the runs of a group come from: seeds of them on each side of a comparison, and a name for what they are about.
type provenance struct {
	Group
	seeds int
	name  string
}

// text says how the runs were trained, but for their seconds.
func (p provenance) text() string {
	run := p.Group[0].Run
	return fmt.Sprintf("%s, profile `%s`, %s of %d images, %s, backend %s on %s, commit %s", datasetTitle(run.Dataset), run.Profile,
		plural(run.Epochs, "epoch"), run.TrainImages, plural(p.seeds, "seed"), run.Machine, p.processors(), p.Commits())
}

// provenanceNotes say how runs were trained, once for all that share it.
func provenanceNotes(all []provenance) (notes []string) {
	var texts []string
	names := map[string][]string{}
	for _, p := range all {
		text := p.text()
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		if !slices.Contains(names[text], p.name) {
			names[text] = append(names[text], p.name)
		}
	}
	for _, text := range texts {
		notes = append(notes, text+": "+strings.Join(names[text], ", ")+".")
	}
	return notes
}

// grouped are rows that rest on the records of a group, or on none.
type grouped interface{ group() Group }

// group makes a group a row of its own.
func (g Group) group() Group { return g }

// of is a column about the first record of a row's group, empty where the row has no records.
func of[R grouped](name string, cell func(record.Record) string) Column[R] {
	return Column[R]{Name: name, Cell: func(row R) string {
		if len(row.group()) == 0 {
			return ""
		}
		return cell(row.group()[0])
	}}
}

// placeColumns say on which data set and where the runs of a row were trained.
func placeColumns[R grouped]() Columns[R] {
	return Columns[R]{
		of[R]("dataset", func(r record.Record) string { return r.Run.Dataset.Name }),
		of[R]("dataset_sha256", func(r record.Record) string { return r.Run.Dataset.SHA256 }),
		of[R]("profile", func(r record.Record) string { return r.Run.Profile }),
		of[R]("backend", func(r record.Record) string { return r.Run.Machine.String() }),
	}
}

// scaleColumns say how long the runs of a row were trained, on how many images, and on how many they were measured.
func scaleColumns[R grouped]() Columns[R] {
	return Columns[R]{
		epochsColumn[R](),
		of[R]("train_images", func(r record.Record) string { return strconv.Itoa(r.Run.TrainImages) }),
		of[R]("test_images", func(r record.Record) string { return strconv.Itoa(r.Run.TestImages) }),
	}
}

func epochsColumn[R grouped]() Column[R] {
	return of[R]("epochs", func(r record.Record) string { return strconv.Itoa(r.Run.Epochs) })
}

func seedsColumn[R grouped]() Column[R] {
	return Column[R]{Name: "seeds", Cell: func(row R) string { return strconv.Itoa(len(row.group())) }}
}

// originColumns say where and how long the runs of a row were trained.
func originColumns[R grouped]() Columns[R] {
	return slices.Concat(placeColumns[R](), Columns[R]{seedsColumn[R]()}, scaleColumns[R]())
}

// closingColumns are the seconds of a run, the median over the seeds, the processors that it took them on, and the commits that trained them.
func closingColumns[R grouped]() Columns[R] {
	return Columns[R]{
		{Name: "seconds", Cell: func(row R) string { return decimals(row.group().seconds(), 0) }},
		{Name: "cpu", Cell: func(row R) string { return row.group().processors() }},
		{Name: "commit", Cell: func(row R) string { return row.group().Commits() }},
	}
}

// meanStd are two columns, of a quantity's mean over seeds and its standard deviation.
func meanStd[R grouped](name string, digits int, quantity func(record.Record) float64) Columns[R] {
	return Columns[R]{
		{Name: name, Cell: func(row R) string { return decimals(row.group().Sample(quantity).Mean, digits) }},
		{Name: name + "_std", Cell: func(row R) string { return decimals(row.group().Sample(quantity).Std, digits) }},
	}
}

// withStd is one column for reading, of a quantity's mean over seeds and its standard deviation.
func withStd[R grouped](heading string, digits int, quantity func(record.Record) float64) Column[R] {
	return Column[R]{Heading: heading, Number: true, Cell: func(row R) string {
		return row.group().Sample(quantity).Text(digits)
	}}
}

// percent prints a percentage, and nothing for one that is not known.
func percent(value float64) string { return decimals(value, 2) }

// decimals prints a number with that many decimals, and nothing for NaN, which is not known.
func decimals(value float64, count int) string {
	if math.IsNaN(value) {
		return ""
	}
	return strconv.FormatFloat(value, 'f', count, 64)
}

// optional prints a number with that many decimals, and nothing for nil.
func optional(value *float64, count int) string {
	if value == nil {
		return ""
	}
	return decimals(*value, count)
}

// significant prints two digits of a number for reading, and nothing for nil.
func significant(value *float64) string {
	if value == nil {
		return ""
	}
	return minus(fmt.Sprintf("%.2g", *value))
}

// minus prints a number for reading, with a minus in place of the hyphen.
func minus(number string) string { return strings.ReplaceAll(number, "-", "−") }

// orDash is text, or a dash for none.
func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// plural counts a thing: "1 seed", "3 seeds".
func plural(count int, thing string) string {
	if count != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", count, thing)
}

// list writes notes as a list in Markdown.
func list(notes ...string) string {
	text := ""
	for _, note := range notes {
		text += "- " + note + "\n"
	}
	return text
}
