package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/stats"
)

// measures are the columns of a table of decodings: for readers and in CSV, with the number of a block that they show, nil where it was not
// measured.
var measures = []struct {
	title, name string
	of          func(record.BlockMeasures) *float64
}{
	{"linear: cosine", "linear_cosine", func(l record.BlockMeasures) *float64 { return &l.Linear.Cosine }},
	{"control", "linear_control", func(l record.BlockMeasures) *float64 { return &l.Linear.Control }},
	{"fidelity", "linear_fidelity", func(l record.BlockMeasures) *float64 { return new(l.Linear.Fidelity()) }},
	{"image: cosine", "linear_image_cosine", func(l record.BlockMeasures) *float64 { return l.Linear.ImageCosine }},
	{"control", "linear_image_control", func(l record.BlockMeasures) *float64 { return l.Linear.ImageControl }},
	{"rectified: cosine", "rectified_cosine", func(l record.BlockMeasures) *float64 { return &l.Rectified.Cosine }},
	{"control", "rectified_control", func(l record.BlockMeasures) *float64 { return &l.Rectified.Control }},
	{"fidelity", "rectified_fidelity", func(l record.BlockMeasures) *float64 { return new(l.Rectified.Fidelity()) }},
	{"image: cosine", "rectified_image_cosine", func(l record.BlockMeasures) *float64 { return l.Rectified.ImageCosine }},
	{"control", "rectified_image_control", func(l record.BlockMeasures) *float64 { return l.Rectified.ImageControl }},
	{"class difference", "difference", func(l record.BlockMeasures) *float64 { return l.Difference }},
	{"on the ink", "ink_share", func(l record.BlockMeasures) *float64 { return l.InkShare }},
	{"ink", "ink_area", func(l record.BlockMeasures) *float64 { return l.InkArea }},
	{"spread of biases", "bias_spread", func(l record.BlockMeasures) *float64 { return l.BiasSpread }},
}

// Decodings are the measurements on the decodings of rows, block by block, as trained and before training: means over seeds. A run without epochs
// has those before training alone.
func Decodings(rows ...Row) Table {
	t := Table{Name: "decodings", Columns: []Column{{Name: "experiment"}, {Title: "block"}, {Name: "block"}, {Name: "trained"}}}
	for _, m := range measures {
		t.Columns = append(t.Columns, Column{Title: m.title, Name: m.name, Kind: Mean})
	}
	for _, row := range rows {
		for _, trained := range []bool{true, false} {
			t.Rows = append(t.Rows, row.levels(trained)...)
		}
	}
	return t.withoutEmpty()
}

func (r Row) levels(trained bool) (lines [][]Cell) {
	if len(r.Records) == 0 || !r.Decoded || trained && r.Records[0].Run.Epochs == 0 {
		return nil
	}
	levels := func(seed record.Record) []record.BlockMeasures {
		if trained {
			return seed.Decodings.Trained
		}
		return seed.Decodings.Untrained
	}
	for i, level := range levels(r.Records[0]) {
		title := level.Block
		if !trained {
			title += ", untrained"
		}
		line := []Cell{text(r.Name), text(title), text(level.Block), text(strconv.FormatBool(trained))}
		for _, m := range measures {
			var values []float64
			for _, seed := range r.Records {
				if value := m.of(levels(seed)[i]); value != nil {
					values = append(values, *value)
				}
			}
			cell := mean(stats.SampleOf(values), 2)
			if m.name == "difference" { // it is small
				cell.format = "%.2g"
			}
			line = append(line, cell)
		}
		lines = append(lines, line)
	}
	return lines
}

// pictures are those of the row's decodings: of its first seed, if that network learned. It refuses one that is not the recorded one.
func (p *Profile) pictures(row Row) ([]record.Figure, error) {
	if len(row.Records) == 0 || row.Records[0].Decodings == nil || !row.Records[0].Learned() {
		return nil, nil
	}
	r := row.Records[0]
	for _, f := range r.Decodings.Figures {
		path := filepath.Join(p.Folder, record.FiguresFolder, f.File)
		picture, err := safefile.Read(path, maxSize)
		if err == nil && safefile.Sum(picture) != f.SHA256 {
			err = errors.New(path + " has another SHA-256")
		}
		if err != nil {
			return nil, fmt.Errorf("a picture of record %s: %w; copy it from where it was made or from git, or remove the record and run again", r.ID, err)
		}
	}
	return r.Decodings.Figures, nil
}
