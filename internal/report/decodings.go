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

// measure is a number of a block, nil where it was not measured, with its column's name.
type measure struct {
	name  string
	value *float64
}

// measures returns what the table of decodings shows of a block.
func measures(b record.BlockMeasures) []measure {
	return []measure{
		{"linear_cosine", &b.Linear.Cosine}, {"linear_control", &b.Linear.Control},
		{"linear_fidelity", new(b.Linear.Fidelity())},
		{"linear_image_cosine", b.Linear.ImageCosine},
		{"linear_image_control", b.Linear.ImageControl},
		{"rectified_cosine", &b.Rectified.Cosine}, {"rectified_control", &b.Rectified.Control},
		{"rectified_fidelity", new(b.Rectified.Fidelity())},
		{"rectified_image_cosine", b.Rectified.ImageCosine},
		{"rectified_image_control", b.Rectified.ImageControl},
		{"difference", b.Difference}, {"ink_share", b.InkShare}, {"ink_area", b.InkArea},
		{"bias_spread", b.BiasSpread},
	}
}

// decodings returns the measurements on the decodings of rows, block by block, as trained and
// before training: means over seeds.
func decodings(rows ...Row) Table {
	t := Table{Name: "decodings", Columns: []Column{{Name: "experiment"}, {Name: "block"},
		{Name: "trained"}}}
	for _, m := range measures(record.BlockMeasures{}) {
		t.Columns = append(t.Columns, Column{Name: m.name, Kind: Mean})
	}
	for _, row := range rows {
		for _, trained := range []bool{true, false} {
			for i, block := range row.blocks(trained) {
				line := []Cell{text(row.Name), text(block.Block), text(strconv.FormatBool(trained))}
				for column := range measures(block) {
					values := row.values(func(r record.Record) *float64 {
						return measures(r.Decodings.Blocks(trained)[i])[column].value
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
