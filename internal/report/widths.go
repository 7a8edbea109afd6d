package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

// decodedNetwork is a network in the comparison of decodings by width, as trained or before training.
type decodedNetwork struct {
	Group   // the run alone
	trained bool
}

// blocks are the network's decodings, from the lowest block up.
func (d decodedNetwork) blocks() []decode.Fidelity {
	if d.trained {
		return d.Group[0].Decodings.Trained
	}
	return d.Group[0].Decodings.Untrained
}

// name says which network it is.
func (d decodedNetwork) name() string {
	if d.trained {
		return fmt.Sprintf("width %d, trained", d.Group[0].Run.Width())
	}
	return fmt.Sprintf("width %d, untrained", d.Group[0].Run.Width())
}

// decodedWidths finds the decoded runs of an experiment in a setting that differ in their width alone, among trials, too: a list a
// training, sorted by width. A width stands there with its first seed.
func (p *Profile) decodedWidths(experiment string, setting Setting) (all [][]record.Record) {
	byWidth := map[string]map[int]record.Record{} // by what the runs share
	for _, r := range p.Records {
		if r.Run.Experiment != experiment || r.Decodings == nil || !setting.has(r.Run) {
			continue
		}
		shared, width := r.Run, r.Run.Width()
		shared.Network = ebssc.Network{}
		key := withoutSeed(shared)
		if byWidth[key] == nil {
			byWidth[key] = map[int]record.Record{}
		}
		if other, ok := byWidth[key][width]; !ok || r.Run.Seed < other.Run.Seed {
			byWidth[key][width] = r
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byWidth)) {
		if runs := byWidth[key]; len(runs) > 1 {
			var sorted []record.Record
			for _, width := range slices.Sorted(maps.Keys(runs)) {
				sorted = append(sorted, runs[width])
			}
			all = append(all, sorted)
		}
	}
	slices.SortStableFunc(all, func(a, b []record.Record) int { return cmp.Compare(b[0].Run.ImagesShown(), a[0].Run.ImagesShown()) })
	return all
}

// reportWidths adds a figure for each training that an experiment's decoded networks of several widths had, and returns a block for each.
func (p *Profile) reportWidths(out output, study experiments.Study, e experiments.Experiment, setting Setting) (blocks []block, err error) {
	for i, runs := range p.decodedWidths(e.Name, setting) {
		var networks []decodedNetwork
		var sources []provenance
		for _, r := range runs {
			if _, err := p.fidelityPairs(study, Group{r}); err != nil {
				return nil, err
			}
			networks = append(networks, decodedNetwork{Group{r}, false})
			sources = append(sources, provenance{Group{r}, 1, fmt.Sprintf("width %d", r.Run.Width())})
		}
		for _, r := range runs {
			if learned(r) {
				networks = append(networks, decodedNetwork{Group{r}, true})
			}
		}
		title := e.Title + " by width, before training"
		if slices.ContainsFunc(networks, func(n decodedNetwork) bool { return n.trained }) {
			title = fmt.Sprintf("%s by width, %s of %d images", e.Title, plural(runs[0].Run.Epochs, "epoch"), runs[0].Run.TrainImages)
		}
		chart := widthsChart(title+"\n"+p.subtitle(setting, nil, ""), networks)
		drawn, err := chart.First().Draw()
		if err != nil {
			return nil, fmt.Errorf("drawing the decodings of %s by width: %w", e.Name, err)
		}
		b := block{setting: setting, title: title, table: widthsColumns(networks[0].blocks()).table(networks), notes: append(provenanceNotes(sources),
			"Cosines between a preprocessed image and its reconstruction from a block's code, as above. A network at chance is shown untrained alone.")}
		if b.figures, err = out.draw(nil, study, widthsSuffix(i), title, drawn, curvesChart(chart, title, cosines)); err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// widthsSuffix ends the name of the figure of a study's i-th training at several widths: widths, widths2, widths3, ….
func widthsSuffix(i int) string {
	if i == 0 {
		return "widths"
	}
	return "widths" + strconv.Itoa(i+1)
}

// widthsColumns are those of decodings by width: a line a network, the cosine from each of its blocks.
func widthsColumns(blocks []decode.Fidelity) Columns[decodedNetwork] {
	columns := Columns[decodedNetwork]{
		{Heading: "Network", Cell: decodedNetwork.name},
		{Heading: "test err. %", Number: true, Cell: func(d decodedNetwork) string {
			if !d.trained {
				return ""
			}
			return percent(d.Group[0].TestErr)
		}},
	}
	for i, f := range blocks {
		columns = append(columns, Column[decodedNetwork]{Heading: f.Block, Number: true, Cell: func(d decodedNetwork) string {
			if i >= len(d.blocks()) {
				return ""
			}
			return decimals(d.blocks()[i].Cosine, 3)
		}})
	}
	return columns
}

// widthsChart draws the cosine from each block, a curve a network.
func widthsChart(title string, networks []decodedNetwork) plot.Chart {
	chart := plot.Chart{Title: title, X: "block", Y: "cosine of image and reconstruction"}
	for _, network := range networks {
		curve := plot.Curve{Name: network.name()}
		for i, f := range network.blocks() {
			curve.Points = append(curve.Points, plot.At(float64(i+1), f.Cosine))
		}
		chart.Curves = append(chart.Curves, curve)
	}
	return chart
}
