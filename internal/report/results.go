// Package report turns the records of a profile into tables and figures, on one path: the planned
// runs' IDs and the records become typed tables, which are printed as Markdown, CSV and text. The
// same records give the same bytes.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// Results is a folder of results: the rows that a profile plans, and the records that belong to
// them.
type Results struct {
	experiments.Profile
	// Folder of the results, such as results/quick.
	Folder string
	// Records of the folder, by ID: of planned runs, and of trials.
	Records map[string]record.Record
	// Studies of the profile that have a record of a planned run.
	Studies experiments.Suite
	// Datasets of the records, of each kind of images.
	Datasets map[experiments.DataKind]experiments.Dataset

	own     map[experiments.DataKind]experiments.Images // size and classes of own pictures
	rows    map[string]Row
	planned map[string]bool
	sorted  []record.Record
}

// Row is an experiment with the records of its planned runs.
type Row struct {
	experiments.Experiment
	// Study that it belongs to.
	Study experiments.Study
	// Planned is the number of seeds that the profile plans. Records are those that are there, in
	// the order of seeds.
	Planned int
	Records []record.Record

	width int // of the planned runs, and their scale
	scale scale
}

// scale is the size of a training beside the network's. Most rows that are compared have one scale.
type scale struct{ trainImages, epochs int }

// Load reads and verifies the records of a folder of results, once. The folder has the profile's
// name, or that with the name of another data set. Two data sets for one kind of images are
// refused.
func Load(results, folder string, profile experiments.Profile) (*Results, error) {
	p := &Results{Profile: profile, Folder: filepath.Join(results, folder),
		own: map[experiments.DataKind]experiments.Images{}, rows: map[string]Row{},
		planned: map[string]bool{}}
	var err error
	if p.Records, err = record.LoadAll(filepath.Join(p.Folder, record.Folder)); err != nil {
		return nil, err
	}
	p.sorted = sorted(p.Records)
	if p.Datasets, err = p.datasets(); err != nil {
		return nil, err
	}
	for _, study := range catalogue.All.ForProfile(profile) {
		p.attach(study, p.Datasets[study.Images])
	}
	return p, nil
}

// sorted returns records in the order of lists: experiments as they are declared, those that are no
// longer declared after them; then seeds, then IDs.
func sorted(records map[string]record.Record) []record.Record {
	var declared []string
	for _, study := range catalogue.All {
		for _, e := range study.Experiments {
			declared = append(declared, e.Name)
		}
	}
	place := func(r record.Record) int {
		if at := slices.Index(declared, r.Run.Experiment); at >= 0 {
			return at
		}
		return len(declared)
	}
	return slices.SortedFunc(maps.Values(records), func(a, b record.Record) int {
		return cmp.Or(place(a)-place(b), strings.Compare(a.Run.Experiment, b.Run.Experiment),
			a.Run.Seed-b.Run.Seed, strings.Compare(a.ID, b.ID))
	})
}

// datasets returns the data set of each kind of images, as records name it.
func (p *Results) datasets() (map[experiments.DataKind]experiments.Dataset, error) {
	path := func(r record.Record) string {
		return record.Path(filepath.Join(p.Folder, record.Folder), r.ID)
	}
	sets := map[experiments.DataKind]experiments.Dataset{}
	first := map[experiments.DataKind]record.Record{}
	for _, r := range p.sorted {
		if r.Run.Profile != p.Name {
			return nil, fmt.Errorf("%q is of profile %q, in a folder of profile %s: move it to its own",
				path(r), r.Run.Profile, p.Name)
		}
		study, _, err := catalogue.All.Experiment(r.Run.Experiment)
		if err != nil {
			continue // no longer declared
		}
		set := r.Run.Dataset
		if other, ok := first[study.Images]; ok && other.Run.Dataset != set {
			return nil, fmt.Errorf("%q and %q are of different data sets "+
				"(%q and %q, SHA-256 %.12q and %.12q): give each a folder of its own",
				path(other), path(r), other.Run.Dataset.Name, set.Name, other.Run.Dataset.SHA256, set.SHA256)
		}
		sets[study.Images], first[study.Images] = set, r
		if n := r.Run.Network; experiments.Own(set.Name) {
			p.own[study.Images] = experiments.Images{Height: n.Height, Width: n.Width,
				Channels: n.Channels, Classes: r.Classes}
		}
	}
	return sets, nil
}

// onOwn returns a study as it was run: where the records are of a person's own pictures, on these.
func (p *Results) onOwn(study experiments.Study) experiments.Study {
	if own, ok := p.own[study.Images]; ok {
		return study.On(own)
	}
	return study
}

// attach makes a row for each experiment of a study and attaches the records whose IDs the profile
// plans on this data set. Without records there is no data set, and all rows are empty. A row that
// cannot be planned is empty, too: `ebssc run` reports the reason. On images that are not the
// paper's, the paper's numbers do not stand beside ours.
func (p *Results) attach(study experiments.Study, set experiments.Dataset) {
	recorded := false
	study = p.onOwn(study)
	for _, e := range study.Experiments {
		alone := study
		alone.Experiments = []experiments.Experiment{e} // a mistake in one row hides no other
		runs, _ := experiments.Plan(alone, p.Profile, set, experiments.Overrides{})
		if set.Name != "" && !study.Images.Has(set.Name) {
			e.Paper = experiments.Paper{}
		}
		row := Row{Experiment: e, Study: study, Planned: p.Scales[study.Name].Seeds}
		for _, run := range runs {
			row.width, row.scale = run.Width(), scale{run.TrainImages, run.Epochs}
			if r, ok := p.Records[run.ID()]; ok {
				row.Records, recorded, p.planned[r.ID] = append(row.Records, r), true, true
			}
		}
		p.rows[e.Name] = row
	}
	if recorded {
		p.Studies = append(p.Studies, study)
	}
}

// Rows returns the rows of a study in their order: those with a record, and those that the paper
// has a number of. So a row that was just declared changes no report. A study without any record
// has none.
func (p *Results) Rows(study experiments.Study) (rows []Row) {
	if !slices.ContainsFunc(p.Studies,
		func(s experiments.Study) bool { return s.Name == study.Name }) {
		return nil
	}
	for _, e := range study.Experiments {
		if row := p.rows[e.Name]; row.reported() {
			rows = append(rows, row)
		}
	}
	return rows
}

// reported says whether reports have the row: if it has a record, or a number of the paper.
func (r Row) reported() bool { return len(r.Records) > 0 || r.Paper != (experiments.Paper{}) }

// Trial reports whether a record is of a run that the profile does not plan.
func (p *Results) Trial(r record.Record) bool { return !p.planned[r.ID] }

// Sample sums up a quantity of the row's records that is not one of a block.
func (r Row) Sample(quantity experiments.Quantity) stats.Sample {
	return stats.SampleOf(r.quantities(quantity, experiments.Term{}))
}

// quantities returns a quantity of the row's records, of the block that the term names.
func (r Row) quantities(quantity experiments.Quantity, term experiments.Term) []float64 {
	return r.values(func(of record.Record) *float64 { return of.Value(quantity, term) })
}

// values returns a number of the row's records, without those that lack it.
func (r Row) values(of func(record.Record) *float64) (values []float64) {
	for _, recorded := range r.Records {
		if value := of(recorded); value != nil {
			values = append(values, *value)
		}
	}
	return values
}

// scaleOf says at what size the rows of a study are run, and how many seeds of it are recorded.
func (p *Results) scaleOf(study experiments.Study) string {
	rows := p.Rows(study)
	widths, epochs := []int{p.Scales[study.Name].Width}, []int{p.Scales[study.Name].Epochs}
	for _, row := range rows {
		if row.width > 0 {
			widths, epochs = append(widths, row.width), append(epochs, row.scale.epochs)
		}
	}
	if len(rows) == 0 {
		rows = []Row{{Planned: p.Scales[study.Name].Seeds}}
	}
	return fmt.Sprintf("%s: width %s, %s epochs, %s", p.Name,
		Span(widths, " to "), Span(epochs, " to "), seeds(rows...))
}

// Span writes numbers by the least and the largest, with a text between them: "5", or "1 to 64".
func Span(numbers []int, between string) string {
	least, most := slices.Min(numbers), slices.Max(numbers)
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d%s%d", least, between, most)
}

// describe says what figures and tables of a study are of: its scale, and in a second line the
// images.
func (p *Results) describe(study experiments.Study) string {
	set, scale := p.Datasets[study.Images], p.Scales[study.Name]
	title := dataset.Title(set.Name)
	if !study.Images.Has(set.Name) && !experiments.Own(set.Name) {
		title += " in place of " + string(study.Images)
	}
	images := []int{min(cmp.Or(scale.TrainImages, set.Train), set.Train)}
	for _, row := range p.Rows(study) {
		if row.scale.trainImages > 0 {
			images = append(images, row.scale.trainImages)
		}
	}
	return fmt.Sprintf("%s at %s,\n%s training and %d test images of %s", study.Name, p.scaleOf(study),
		Span(images, " to "), min(cmp.Or(scale.TestImages, set.Test), set.Test), title)
}

// seeds says how many of the planned seeds rows have: "5 seeds", "1 of 5 seeds" or "0 to 3 of 5
// seeds".
func seeds(rows ...Row) string {
	if rows[0].Planned == 1 {
		return ofPlanned(rows...) + " seed"
	}
	return ofPlanned(rows...) + " seeds"
}

// ofPlanned is how many of the planned seeds rows have: "5", "1 of 5" or "0 to 3 of 5".
func ofPlanned(rows ...Row) string {
	planned := rows[0].Planned
	var recorded []int
	for _, row := range rows {
		recorded = append(recorded, len(row.Records))
	}
	if slices.Min(recorded) == planned {
		return fmt.Sprint(planned)
	}
	return fmt.Sprintf("%s of %d", Span(recorded, " to "), planned)
}
