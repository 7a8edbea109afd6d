package report

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/files"
	"ebsscgo/internal/table"
	"ebsscgo/internal/train"
)

// decodingLayout is that of decoding.csv: a line a block of a network, as trained and before training (trained is true or
// false), in means over the first test images, see [decode.Fidelity]. seconds are those of the measurement. The columns
// that say how the network was got are as in table.csv.
var decodingLayout = table.Layout{Keys: 1, Columns: []string{
	"experiment", "trained", "block", "dataset", "dataset_sha256", "profile", "backend", "seeds", "epochs", "images",
	"cosine", "cosine_std", "error", "difference", "difference_std", "ink_share", "ink_area", "seconds", "commit",
}}

// decodingFile is in a profile's folder.
const decodingFile = "decoding.csv"

// Decodings are what was measured on decodings of a network.
type Decodings struct {
	// Result of the network's run.
	Result train.Result
	// Trained and Untrained is what was measured of the network as it is, and before training.
	Trained, Untrained []decode.Fidelity
	// Images that it was measured on.
	Images int
	// Seconds that each of the two measurements took.
	Seconds float64
	// Pictures are the names of the network's figures in the figures folder, with their titles.
	Pictures []Picture
}

// Picture is a figure of a report.
type Picture struct{ Title, File string }

// WriteDecodings puts decodings into decoding.csv and writes the report of their study for reading.
func WriteDecodings(results string, study experiments.Study, all []Decodings) error {
	var lines []Line
	for _, d := range all {
		lines = append(lines, d.lines()...)
	}
	profile := all[0].Result.Run.Profile
	folder := filepath.Join(results, profile)
	unlock, err := lock(folder)
	if err != nil {
		return err
	}
	defer unlock()
	if err := decodingLayout.Update(filepath.Join(folder, decodingFile), lines); err != nil {
		return err
	}
	return files.Write(filepath.Join(folder, Summary(study)), []byte(decodingMarkdown(profile, study, all, lines)))
}

// lines are the lines of decoding.csv.
func (d Decodings) lines() (lines []Line) {
	for i, measured := range [][]decode.Fidelity{d.Trained, d.Untrained} {
		for _, f := range measured {
			l := origin(Group{d.Result})
			l["experiment"], l["trained"], l["block"] = d.Result.Run.Experiment, strconv.FormatBool(i == 0), f.Block
			l["images"], l["seconds"] = strconv.Itoa(d.Images), decimals(d.Seconds, 0)
			l["cosine"], l["cosine_std"], l["error"] = decimals(f.Cosine, 4), decimals(f.CosineStd, 4), decimals(f.Error, 4)
			l["difference"], l["difference_std"] = decimals(orNaN(f.Difference), 6), decimals(orNaN(f.DifferenceStd), 6)
			l["ink_share"], l["ink_area"] = decimals(orNaN(f.InkShare), 4), decimals(orNaN(f.InkArea), 4)
			lines = append(lines, l)
		}
	}
	return lines
}

// decodingMarkdown is the report of a study of decodings.
func decodingMarkdown(profile string, study experiments.Study, all []Decodings, lines []Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Decodings at profile `%s`: %s\n\n", profile, study.About)
	for _, d := range all {
		fmt.Fprintf(&b, "## %s\n\n", title(d.Result.Run.Experiment))
		b.WriteString("| Block | cosine | error | untrained: cosine | difference | untrained: difference | share on the ink | ink |\n")
		b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
		for i, f := range d.Trained {
			u := d.Untrained[i]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", f.Block, withStd(decimals(f.Cosine, 3), decimals(f.CosineStd, 3)),
				decimals(f.Error, 3), decimals(u.Cosine, 3), decimals(orNaN(f.Difference), 5), decimals(orNaN(u.Difference), 5),
				orDash(decimals(orNaN(f.InkShare), 3)), orDash(decimals(orNaN(f.InkArea), 3)))
		}
		b.WriteString("\n")
		for _, p := range d.Pictures {
			fmt.Fprintf(&b, "![%s](figures/%s)\n\n", strings.ReplaceAll(p.Title, "\n", ": "), p.File)
		}
		writeNotes(&b, append(d.findings(), fmt.Sprintf("The network: train error %.2f %%, test error %.2f %%, %.0f s.",
			d.Result.TrainErr, d.Result.TestErr, d.Result.Seconds)))
		b.WriteString("\n")
	}
	notes := append(provenance(lines[:1], func(l Line) string { return "decodings of " + title(l["experiment"]) }),
		"Cosine and error are between a preprocessed image and its reconstruction from a block's code, all thresholds zero: the "+
			"cosine of their angle (mean ± standard deviation over images), and ‖x − s x̂‖ / ‖x‖ at the best s. Untrained is the same "+
			"network before training.",
		"Difference is how much of a decoding, less the thresholds' own contribution, hangs on the class hypothesis: the squared "+
			"distance from the mean over hypotheses over the squared length. The share on the ink is the part of the squared "+
			"differences between hypotheses at pixels with ink, which are the given part of the image.")
	writeNotes(&b, notes)
	return b.String()
}

// findings say in words whether what the paper says of its figures holds here.
func (d Decodings) findings() (findings []string) {
	worst := d.Trained[0]
	for _, f := range d.Trained {
		if f.Cosine < worst.Cosine {
			worst = f
		}
	}
	findings = append(findings, fmt.Sprintf("The paper calls reconstructions from all levels high fidelity. Here the cosine between image and "+
		"reconstruction falls to %.3f, at %s; from the lowest block it is %.3f.", worst.Cosine, worst.Block, d.Trained[0].Cosine))
	first, last := d.Trained[0], d.Trained[len(d.Trained)-1]
	if first.Difference == nil || last.Difference == nil {
		return findings
	}
	rises := 0
	for i := 1; i < len(d.Trained); i++ {
		if *d.Trained[i].Difference > *d.Trained[i-1].Difference {
			rises++
		}
	}
	return append(findings, fmt.Sprintf("The paper says that differences between class hypotheses grow with depth. Here they go from %.5f at %s "+
		"to %.5f at %s, and rise in %d of %d steps from a block to the next.", *first.Difference, first.Block, *last.Difference, last.Block,
		rises, len(d.Trained)-1))
}

// orNaN returns the value of a measure, NaN if it does not exist.
func orNaN(value *float64) float64 {
	if value == nil {
		return math.NaN()
	}
	return *value
}
