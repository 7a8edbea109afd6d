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

// measures are the columns of the table of decodings, with the number of a block that they show;
// nil where it was not measured.
var measures = []struct {
	name  string
	value func(record.BlockMeasures) *float64
}{
	{"linear_cosine", func(l record.BlockMeasures) *float64 { return &l.Linear.Cosine }},
	{"linear_control", func(l record.BlockMeasures) *float64 { return &l.Linear.Control }},
	{"linear_fidelity", func(l record.BlockMeasures) *float64 { return new(l.Linear.Fidelity()) }},
	{"linear_image_cosine", func(l record.BlockMeasures) *float64 { return l.Linear.ImageCosine }},
	{"linear_image_control", func(l record.BlockMeasures) *float64 { return l.Linear.ImageControl }},
	{"rectified_cosine", func(l record.BlockMeasures) *float64 { return &l.Rectified.Cosine }},
	{"rectified_control", func(l record.BlockMeasures) *float64 { return &l.Rectified.Control }},
	{"rectified_fidelity",
		func(l record.BlockMeasures) *float64 { return new(l.Rectified.Fidelity()) }},
	{"rectified_image_cosine",
		func(l record.BlockMeasures) *float64 { return l.Rectified.ImageCosine }},
	{"rectified_image_control",
		func(l record.BlockMeasures) *float64 { return l.Rectified.ImageControl }},
	{"difference", func(l record.BlockMeasures) *float64 { return l.Difference }},
	{"ink_share", func(l record.BlockMeasures) *float64 { return l.InkShare }},
	{"ink_area", func(l record.BlockMeasures) *float64 { return l.InkArea }},
	{"bias_spread", func(l record.BlockMeasures) *float64 { return l.BiasSpread }},
}

// decodings returns the measurements on the decodings of rows, block by block, as trained and
// before training: means over seeds.
func decodings(rows ...Row) Table {
	t := Table{Name: "decodings", Columns: []Column{{Name: "experiment"}, {Name: "block"},
		{Name: "trained"}}}
	for _, m := range measures {
		t.Columns = append(t.Columns, Column{Name: m.name, Kind: Mean})
	}
	for _, row := range rows {
		for _, trained := range []bool{true, false} {
			for i, block := range row.blocks(trained) {
				line := []Cell{text(row.Name), text(block.Block), text(strconv.FormatBool(trained))}
				for _, m := range measures {
					values := row.values(func(r record.Record) *float64 {
						return m.value(r.Decodings.Blocks(trained)[i])
					})
					line = append(line, mean(stats.SampleOf(values), 2))
				}
				t.Rows = append(t.Rows, line)
			}
		}
	}
	return t
}

// blocks returns the blocks of which decodings were measured, as the first seed has them: of the
// trained network, or of it before training. A run without epochs has the latter alone.
func (r Row) blocks(trained bool) []record.BlockMeasures {
	if len(r.Records) == 0 || !r.Decoded || trained && r.Records[0].Run.Epochs == 0 {
		return nil
	}
	return r.Records[0].Decodings.Blocks(trained)
}

// pictures are those of the row's decodings: of its first seed, if that network learned. It refuses
// one that is not the recorded one.
func (p *Results) pictures(row Row) ([]record.Figure, error) {
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
			return nil, fmt.Errorf("a picture of record %s: %w; copy it from where it was made or "+
				"from git, or remove the record and run again", r.ID, err)
		}
	}
	return r.Decodings.Figures, nil
}
