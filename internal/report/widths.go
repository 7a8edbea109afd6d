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

// decodedNetwork is a network in the comparison of decodings by width, as trained or before training; its group has a run a seed.
type decodedNetwork struct {
	Group
	trained bool
}

// blocks are the decodings of a seed's network, from the lowest block up.
func (d decodedNetwork) blocks(r record.Record) []decode.Fidelity {
	if d.trained {
		return r.Decodings.Trained
	}
	return r.Decodings.Untrained
}

// cosine is that of the i-th block; ok says whether the network has as many blocks.
func (d decodedNetwork) cosine(i int) (of func(record.Record) float64, ok bool) {
	return func(r record.Record) float64 { return d.blocks(r)[i].Cosine }, i < len(d.blocks(d.Group[0]))
}

// name says which network it is.
func (d decodedNetwork) name() string {
	if d.trained {
		return fmt.Sprintf("width %d, trained", d.Group[0].Run.Width())
	}
	return fmt.Sprintf("width %d, untrained", d.Group[0].Run.Width())
}

// decodedWidths finds the decoded runs of an experiment in a setting that differ in their width and seeds alone, among trials, too: a list a
// training, with a group a width, sorted by width and seed.
func (p *Profile) decodedWidths(experiment string, setting Setting) (all [][]Group) {
	byWidth := map[string]map[int]Group{} // by what the runs share
	for _, r := range p.Records {
		if r.Run.Experiment != experiment || r.Decodings == nil || !setting.has(r.Run) {
			continue
		}
		shared, width := r.Run, r.Run.Width()
		shared.Network = ebssc.Network{}
		key := withoutSeed(shared)
		if byWidth[key] == nil {
			byWidth[key] = map[int]Group{}
		}
		byWidth[key][width] = append(byWidth[key][width], r)
	}
	for _, key := range slices.Sorted(maps.Keys(byWidth)) {
		if groups := byWidth[key]; len(groups) > 1 {
			var sorted []Group
			for _, width := range slices.Sorted(maps.Keys(groups)) {
				groups[width].sort()
				sorted = append(sorted, groups[width])
			}
			all = append(all, sorted)
		}
	}
	slices.SortStableFunc(all, func(a, b []Group) int { return cmp.Compare(b[0][0].Run.ImagesShown(), a[0][0].Run.ImagesShown()) })
	return all
}

// reportWidths adds a figure for each training that an experiment's decoded networks of several widths had, and returns a block for each. before
// is the number of such figures that the study has already.
func (p *Profile) reportWidths(out output, study experiments.Study, e experiments.Experiment, setting Setting, before int) (blocks []block, err error) {
	for i, groups := range p.decodedWidths(e.Name, setting) {
		var networks []decodedNetwork
		var sources []provenance
		for _, group := range groups {
			if _, err := p.fidelityPairs(study, group); err != nil {
				return nil, err
			}
			networks = append(networks, decodedNetwork{group, false})
			sources = append(sources, provenance{group, len(group), fmt.Sprintf("width %d", group[0].Run.Width())})
		}
		for _, group := range groups {
			if !slices.ContainsFunc(group, func(r record.Record) bool { return !learned(r) }) {
				networks = append(networks, decodedNetwork{group, true})
			}
		}
		title := e.Title + " by width, before training"
		if slices.ContainsFunc(networks, func(n decodedNetwork) bool { return n.trained }) {
			run := groups[0][0].Run
			title = fmt.Sprintf("%s by width, %s of %d images", e.Title, plural(run.Epochs, "epoch"), run.TrainImages)
		}
		if differs := p.otherSettings(groups[0][0].Run, ""); differs != "" {
			title += " with " + differs
		}
		subtitle := p.subtitle(setting, nil, "")
		if slices.ContainsFunc(networks, func(n decodedNetwork) bool { return len(n.Group) > 1 }) {
			subtitle += ", mean over seeds" + seedsBand
		}
		chart := widthsChart(title+"\n"+subtitle, networks)
		drawn, err := chart.First().Draw()
		if err != nil {
			return nil, fmt.Errorf("drawing the decodings of %s by width: %w", e.Name, err)
		}
		b := block{setting: setting, title: title, table: widthsColumns(networks[0].blocks(groups[0][0])).table(networks), notes: append(provenanceNotes(sources),
			"Cosines between a preprocessed image and its reconstruction from a block's code, as above: the mean over the seeds, ± their standard "+
				"deviation. Of runs that were trained too briefly to leave chance only the networks before training are shown.")}
		if groups[0][0].Run.Whitens() {
			b.notes = append(b.notes, "The whitening is fitted on a run's own training images, so runs with more of them have other cosines.")
		}
		if b.figures, err = out.draw(nil, study, widthsSuffix(before+i), title, drawn, curvesChart(chart, title, cosines)); err != nil {
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
		{Heading: "seeds", Number: true, Cell: func(d decodedNetwork) string { return strconv.Itoa(len(d.Group)) }},
		{Heading: "test err. %", Number: true, Cell: func(d decodedNetwork) string {
			if !d.trained {
				return ""
			}
			return d.Sample(testErr).Text(2)
		}},
	}
	for i, f := range blocks {
		columns = append(columns, Column[decodedNetwork]{Heading: f.Block, Number: true, Cell: func(d decodedNetwork) string {
			cosine, ok := d.cosine(i)
			if !ok {
				return ""
			}
			return d.Sample(cosine).Text(3)
		}})
	}
	return columns
}

// widthsChart draws the cosine from each block, a curve a network.
func widthsChart(title string, networks []decodedNetwork) plot.Chart {
	chart := plot.Chart{Title: title, X: "block", Y: "cosine of image and reconstruction"}
	for _, network := range networks {
		curve := plot.Curve{Name: network.name()}
		for i := range network.blocks(network.Group[0]) {
			cosine, _ := network.cosine(i)
			curve.Points = append(curve.Points, network.point(float64(i+1), cosine))
		}
		chart.Curves = append(chart.Curves, curve)
	}
	return chart
}
