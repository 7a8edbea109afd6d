package report

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// File is the report for reading in a profile's folder.
const File = "README.md"

// page is the README of a profile, with the files beside it.
type page struct {
	text  strings.Builder
	files map[string][]byte
	err   error // the first
}

func (g *page) section(title string) { fmt.Fprintf(&g.text, "\n## %s\n", escaped(title)) }

// once adds a paragraph that explains, unless it stands above already.
func (g *page) once(paragraph string) {
	if !strings.Contains(g.text.String(), paragraph) {
		g.text.WriteString("\n" + paragraph + "\n")
	}
}

// table adds a table. Its CSV file gets the table's name; without one its numbers stand in another
// file.
func (g *page) table(t Table) {
	notes := t.Notes
	t.Notes = nil
	g.text.WriteString("\n" + t.Markdown())
	for _, note := range notes {
		g.once(note)
	}
	if t.Name != "" {
		g.csv(t)
	}
}

func (g *page) csv(t Table) {
	g.files[t.Name+".csv"] = t.CSV()
	fmt.Fprintf(&g.text, "\n[%[1]s](%[1]s)\n", t.Name+".csv")
}

func (g *page) chart(name, title string, drawn plot.Figure, err error) {
	f := record.Figure{File: name + ".svg", Title: title}
	if err == nil {
		g.files[record.FiguresFolder+"/"+f.File], err = drawn.SVG()
	}
	g.err = cmp.Or(g.err, err)
	g.picture(f)
}

func (g *page) picture(f record.Figure) {
	address := url.URL{Path: record.FiguresFolder + "/" + f.File}
	fmt.Fprintf(&g.text, "\n![%s](%s)\n", escaped(f.Title), address.EscapedPath())
}

// files are all files of the reports by their paths in the folder, with slashes. Without records
// there are none.
func (p *Results) files() (map[string][]byte, error) {
	if len(p.Records) == 0 {
		return nil, nil
	}
	g := &page{files: map[string][]byte{}}
	fmt.Fprintf(&g.text, "# `%s`: %s\n\n± is the standard deviation over seeds.\n", p.Name,
		escaped(p.About))
	for _, study := range p.Studies {
		if study.Headline {
			p.writeDifferences(g, study)
		}
	}
	papers, ours := p.Claims(false), p.Claims(true)
	if len(papers) > 0 {
		g.section("Claims of the paper")
		g.table(p.claimsTable(papers, false))
	}
	if len(ours) > 0 {
		g.section("Claims of this project")
		g.table(p.claimsTable(ours, true))
	}
	verdicts := slices.Concat(papers, ours)
	for _, study := range p.Studies {
		p.study(g, study)
	}
	if len(verdicts) > 0 {
		g.section("What the claims expect, and what was measured")
		g.text.WriteString("\nA claim agrees if all that it measures lies within the bounds, and disagrees " +
			"if one lies outside.\n")
		g.table(p.expectationsTable(verdicts))
	}
	p.lists(g)
	g.files[File] = []byte(g.text.String())
	list := ""
	for _, name := range slices.Sorted(maps.Keys(g.files)) {
		list += fmt.Sprintf("%s  %s\n", safefile.Sum(g.files[name]), name)
	}
	g.files[manifest] = []byte(list)
	return g.files, g.err
}

func (p *Results) writeDifferences(g *page, study experiments.Study) {
	if t := p.Differences(study); len(t.Rows) > 0 {
		if study.Headline {
			t.Title = p.describe(study)
		}
		g.table(t)
		g.chart(t.Name, "differences in test error between rows", p.drawDifferences(study, t), nil)
	}
}

func (p *Results) study(g *page, study experiments.Study) {
	g.section(study.Name + ": " + study.About)
	g.table(p.Table(study))
	if !study.Headline {
		p.writeDifferences(g, study)
	}
	switch curves := p.Scales[study.Name].Epochs > 0; {
	case curves && study.EvalEachEpoch:
		g.once(fmt.Sprintf("Mean and range over seeds by epoch; the loss is that of at most %d training "+
			"images. The error's axis ends at %g times the median of where its curves end.",
			experiments.TracedImages, sweepsEnd))
		drawn, err := p.drawSweeps(study)
		g.chart(study.Name, "training loss and test error by epoch", drawn, err)
	case curves && study.Headline:
		drawn, err := p.DrawCurves(study)
		g.chart("curves", "learning curves", drawn, err)
	}
	for _, row := range p.Rows(study) {
		if len(row.blocks(false)) > 0 {
			fmt.Fprintf(&g.text, "\nDecodings of %s from each block: means over %s and %d test images.\n",
				escaped(row.Title), seeds(row), row.Records[0].Decodings.Images)
			g.once("Fidelity is 1 for the image itself and 0 for the control, another image's code with " +
				"this image's switches. Grey: not faithful. [decodings.csv](decodings.csv) has the numbers.")
			drawn, err := p.drawDecodings(row)
			g.chart(row.Name+"-decodings", "decodings of "+row.Title+" by block", drawn, err)
		}
		pictures, err := p.pictures(row)
		g.err = cmp.Or(g.err, err)
		for _, picture := range pictures {
			g.picture(picture)
		}
	}
}

// lists adds what is about all studies: trials, and the files of all records.
func (p *Results) lists(g *page) {
	if trials := p.trials(); len(trials.Rows) > 0 {
		g.section("Trials")
		g.table(trials)
	}
	var rows []Row
	for _, study := range p.Studies {
		rows = append(rows, p.Rows(study)...)
	}
	g.section("All runs, learning curves and decodings")
	for _, t := range []Table{p.runsTable(), p.curvesTable(), decodings(rows...)} {
		if len(t.Rows) > 0 {
			g.csv(t)
		}
	}
}
