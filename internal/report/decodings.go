package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// decodedBlock is a line of decoding.csv: a block of a network, as trained or before training.
type decodedBlock struct {
	Group // the run alone
	decode.Fidelity
	trained bool
	differs string // the settings in which a trial differs from its profile
}

// decodingColumns are those of decoding.csv: a line a block of a network, as trained and before training (trained is true or
// false), of all seeds, of trials at other widths, too, in means over the first test images, see
// [decode.Fidelity]. seconds are those of the measurement.
var decodingColumns = slices.Concat(
	Columns[decodedBlock]{
		of[decodedBlock]("experiment", func(r record.Record) string { return r.Run.Experiment }),
		{Name: "trained", Cell: func(d decodedBlock) string { return strconv.FormatBool(d.trained) }},
		{Name: "block", Cell: func(d decodedBlock) string { return d.Block }},
		of[decodedBlock]("width", func(r record.Record) string { return strconv.Itoa(r.Run.Width()) }),
	},
	placeColumns[decodedBlock](),
	Columns[decodedBlock]{
		{Name: "differs", Cell: func(d decodedBlock) string { return d.differs }},
		of[decodedBlock]("seed", func(r record.Record) string { return strconv.Itoa(r.Run.Seed) }), epochsColumn[decodedBlock](),
		of[decodedBlock]("train_images", func(r record.Record) string { return strconv.Itoa(r.Run.TrainImages) }),
		of[decodedBlock]("images", func(r record.Record) string { return strconv.Itoa(r.Decodings.Images) }),
		{Name: "cosine", Cell: func(d decodedBlock) string { return decimals(d.Cosine, 4) }},
		{Name: "cosine_std", Cell: func(d decodedBlock) string { return decimals(d.CosineStd, 4) }},
		{Name: "error", Cell: func(d decodedBlock) string { return decimals(d.Error, 4) }},
		{Name: "difference", Cell: func(d decodedBlock) string { return optional(d.Difference, 6) }},
		{Name: "difference_std", Cell: func(d decodedBlock) string { return optional(d.DifferenceStd, 6) }},
		{Name: "ink_share", Cell: func(d decodedBlock) string { return optional(d.InkShare, 4) }},
		{Name: "ink_area", Cell: func(d decodedBlock) string { return optional(d.InkArea, 4) }},
		of[decodedBlock]("seconds", func(r record.Record) string { return decimals(r.Decodings.Seconds, 0) }),
		{Name: "cpu", Cell: func(d decodedBlock) string { return d.processors() }},
		of[decodedBlock]("commit", func(r record.Record) string { return r.Origin.Commit }),
	},
)

// fidelityPair is a block's decodings by the trained network, and by the same network before training.
type fidelityPair struct {
	trained, untrained decode.Fidelity
	// seeds are those of the networks of all seeds, trained.
	seeds []decode.Fidelity
}

// fidelityColumns are those of the table of a network's blocks; inkColumns follow for digits.
var fidelityColumns = Columns[fidelityPair]{
	{Heading: "Block", Cell: func(p fidelityPair) string { return p.trained.Block }},
	{Heading: "cosine", Number: true, Cell: func(p fidelityPair) string {
		return stats.Sample{Mean: p.trained.Cosine, Std: p.trained.CosineStd}.Text(3)
	}},
	{Heading: "error", Number: true, Cell: func(p fidelityPair) string { return decimals(p.trained.Error, 3) }},
	{Heading: "untrained: cosine", Number: true, Cell: func(p fidelityPair) string { return decimals(p.untrained.Cosine, 3) }},
	{Heading: "difference", Number: true, Cell: func(p fidelityPair) string { return significant(p.trained.Difference) }},
	{Heading: "untrained: difference", Number: true, Cell: func(p fidelityPair) string { return significant(p.untrained.Difference) }},
}

var inkColumns = Columns[fidelityPair]{
	{Heading: "share on the ink", Number: true, Cell: func(p fidelityPair) string { return optional(p.trained.InkShare, 3) }},
	{Heading: "ink", Number: true, Cell: func(p fidelityPair) string { return optional(p.trained.InkArea, 3) }},
}

// seedColumns are a block's means over seeds.
func seedColumns(count int) Columns[fidelityPair] {
	values := func(of func(decode.Fidelity) float64) func(fidelityPair) stats.Sample {
		return func(p fidelityPair) stats.Sample {
			var values []float64
			for _, f := range p.seeds {
				values = append(values, of(f))
			}
			return stats.SampleOf(values)
		}
	}
	cosine := values(func(f decode.Fidelity) float64 { return f.Cosine })
	difference := values(func(f decode.Fidelity) float64 { return *f.Difference })
	return Columns[fidelityPair]{
		{Heading: fmt.Sprintf("%d seeds: cosine", count), Number: true, Cell: func(p fidelityPair) string { return cosine(p).Text(3) }},
		{Heading: fmt.Sprintf("%d seeds: difference", count), Number: true, Cell: func(p fidelityPair) string {
			if slices.ContainsFunc(p.seeds, func(f decode.Fidelity) bool { return f.Difference == nil }) {
				return ""
			}
			of := difference(p)
			return minus(fmt.Sprintf("%.2g ± %.1g", of.Mean, of.Std))
		}},
	}
}

// decoded are the group's records with decodings.
func (g Group) decoded() Group {
	return slices.DeleteFunc(slices.Clone(g), func(r record.Record) bool { return r.Decodings == nil })
}

// reportDecodings adds the pictures of a study of decodings, and returns its report for reading and its lines of decoding.csv.
func (p *Profile) reportDecodings(out output, study experiments.Study, settings []Setting) (d document, lines []decodedBlock, err error) {
	drawn := 0 // figures of widths
	d = document{name: study.Name, title: fmt.Sprintf("Decodings at profile `%s`: %s", p.Name, study.About), heading: study.About}
	for _, setting := range settings {
		for _, e := range study.Experiments {
			decoded := setting.Groups[e.Name].decoded()
			if len(decoded) == 0 {
				continue
			}
			pairs, err := p.fidelityPairs(study, decoded)
			if err != nil {
				return d, nil, err
			}
			for _, r := range decoded {
				lines = append(lines, p.decodedBlocks(r)...)
			}
			r := decoded[0] // the others' pictures are not shown
			columns := fidelityColumns
			if hasInk(r) {
				columns = slices.Concat(columns, inkColumns)
			}
			if len(decoded) > 1 {
				columns = slices.Concat(columns, seedColumns(len(decoded)))
			}
			b := block{setting: setting, title: e.Title, table: columns.table(pairs), notes: decodingNotes(decoded, e.Title)}
			for _, other := range decoded[1:] {
				if _, err := p.pictures(out, other); err != nil {
					return d, nil, err
				}
			}
			if b.figures, err = p.pictures(out, r); err != nil {
				return d, nil, err
			}
			d.blocks = append(d.blocks, b)
			widths, err := p.reportWidths(out, study, e, setting, drawn)
			if err != nil {
				return d, nil, err
			}
			drawn += len(widths)
			d.blocks = append(d.blocks, widths...)
			for _, other := range slices.Concat(slices.Concat(p.decodedWidths(e.Name, setting)...)...) {
				if !slices.ContainsFunc(decoded, func(r record.Record) bool { return r.ID == other.ID }) {
					lines = append(lines, p.decodedBlocks(other)...)
				}
			}
		}
	}
	return d, lines, nil
}

// decodedBlocks are a record's lines of decoding.csv.
func (p *Profile) decodedBlocks(r record.Record) (lines []decodedBlock) {
	differs := p.otherSettings(r.Run, "")
	for _, f := range r.Decodings.Trained {
		lines = append(lines, decodedBlock{Group{r}, f, true, differs})
	}
	for _, f := range r.Decodings.Untrained {
		lines = append(lines, decodedBlock{Group{r}, f, false, differs})
	}
	return lines
}

// fidelityPairs are the blocks of a group's decodings, those of its first seed.
func (p *Profile) fidelityPairs(study experiments.Study, decoded Group) (pairs []fidelityPair, err error) {
	first := decoded[0].Decodings
	for _, r := range decoded {
		if d := r.Decodings; len(d.Trained) == 0 || len(d.Trained) != len(d.Untrained) || len(d.Trained) != len(first.Trained) {
			return nil, fmt.Errorf("record %s has decodings of %d blocks after training and of %d before: run %s again",
				r.ID, len(d.Trained), len(d.Untrained), p.command(study, r.Run.Experiment))
		}
	}
	for i := range first.Trained {
		pair := fidelityPair{trained: first.Trained[i], untrained: first.Untrained[i]}
		for _, r := range decoded {
			pair.seeds = append(pair.seeds, r.Decodings.Trained[i])
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

// CheckPictures returns an error if a picture of a record's decodings is missing or is not the recorded one.
func (p *Profile) CheckPictures() error {
	for _, r := range p.Records {
		if _, err := p.pictures(output{}, r); err != nil {
			return err
		}
	}
	return nil
}

// lostPicture says what to do where a picture is missing or is another.
const lostPicture = "copy it from where the run was trained or from git, or remove the record and run the experiment again"

// pictures adds the pictures of a record's decodings, if it has any, and refuses one that is not the recorded one.
func (p *Profile) pictures(out output, r record.Record) (figures []figure, err error) {
	if r.Decodings == nil {
		return nil, nil
	}
	for _, f := range r.Decodings.Figures {
		name := record.FiguresFolder + "/" + f.File
		path := filepath.Join(p.folder, record.FiguresFolder, f.File)
		if f.File != filepath.Base(f.File) || media[filepath.Ext(f.File)] == "" {
			return nil, fmt.Errorf("record %s names the picture %q, which is not the name of an SVG or PNG file: restore the record from git", r.ID, f.File)
		}
		picture, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("a picture of record %s: %w; %s", r.ID, err, lostPicture)
		}
		if sum := sha256.Sum256(picture); hex.EncodeToString(sum[:]) != f.SHA256 {
			return nil, fmt.Errorf("picture %s is not the one of record %s: its SHA-256 differs; %s", path, r.ID, lostPicture)
		}
		out[name] = picture
		figures = append(figures, figure{path: name, title: strings.ReplaceAll(f.Title, "\n", ": ")})
	}
	return figures, nil
}

// decodingNotes compare what the paper says of its figures with what was measured, and say what the columns mean.
func decodingNotes(decoded Group, title string) []string {
	r := decoded[0]
	trained := r.Decodings.Trained
	worst := slices.MinFunc(trained, func(a, b decode.Fidelity) int { return cmp.Compare(a.Cosine, b.Cosine) })
	notes := []string{fmt.Sprintf("The paper calls reconstructions from all levels high fidelity. Here the cosine between image and "+
		"reconstruction falls to %.3f, at %s; from the lowest block it is %.3f.", worst.Cosine, worst.Block, trained[0].Cosine)}
	if after, before := Growth(trained), Growth(r.Decodings.Untrained); after != "" && before != "" {
		ofDigits := ""
		if !hasInk(r) {
			ofDigits = " of digits"
		}
		notes = append(notes, fmt.Sprintf("The paper says%s that differences between class hypotheses grow with depth. Here they go %s. "+
			"Before training they go %s: what is the same there was not learned.", ofDigits, after, before))
	}
	notes = append(notes, fmt.Sprintf("The network: train error %.2f %%, test error %.2f %%, %.0f s.", r.TrainErr, r.TestErr, r.Seconds))
	notes = append(notes, provenanceNotes([]provenance{{decoded, len(decoded), fmt.Sprintf("decodings of %s in %.0f s", title,
		stats.Median(decoded.values(func(r record.Record) float64 { return r.Decodings.Seconds })))}})...)
	if len(decoded) > 1 {
		notes = append(notes, fmt.Sprintf("Pictures and numbers are of seed %d. Columns of %d seeds are means over networks, ± the standard deviation over them.",
			r.Run.Seed, len(decoded)))
	}
	notes = append(notes,
		"Cosine and error are between a preprocessed image and its reconstruction from a block's code, all thresholds zero: the "+
			"cosine of their angle (mean ± standard deviation over the first "+strconv.Itoa(r.Decodings.Images)+" test images), and ‖x − s x̂‖ / ‖x‖ at the best s. Untrained is the same "+
			"network before training.",
		"Difference is the part of a decoding, without the thresholds' own contribution, that depends on the class hypothesis: the squared "+
			"distance from the mean over hypotheses, divided by the squared length.")
	if hasInk(r) {
		notes = append(notes, "The share on the ink is the part of the squared differences between hypotheses at pixels with ink; ink is the part "+
			"of the image with ink.")
	}
	return notes
}

// hasInk says whether the images are drawn in ink, as digits are.
func hasInk(r record.Record) bool {
	return slices.ContainsFunc(r.Decodings.Trained, func(f decode.Fidelity) bool { return f.InkArea != nil })
}

// Growth says how the differences between hypotheses change from the lowest block to the highest; nothing if either has none.
func Growth(blocks []decode.Fidelity) string {
	first, last, rises := blocks[0], blocks[len(blocks)-1], 0
	if first.Difference == nil || last.Difference == nil {
		return ""
	}
	for i, f := range blocks[1:] {
		if below := blocks[i].Difference; f.Difference != nil && below != nil && *f.Difference > *below {
			rises++
		}
	}
	return fmt.Sprintf("from %s at %s to %s at %s, and rise in %d of %s from a block to the next", significant(first.Difference), first.Block,
		significant(last.Difference), last.Block, rises, plural(len(blocks)-1, "step"))
}
