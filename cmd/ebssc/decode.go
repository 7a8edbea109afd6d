package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// decodedImages is how many test images decodings are measured on.
const decodedImages = 1000

// residualBlocks are the levels that the paper's Fig. 5 shows.
var residualBlocks = []string{"conv2", "conv5"}

// haveDecodings says whether one of the studies reports decodings.
func haveDecodings(studies []experiments.Study) bool {
	return slices.ContainsFunc(studies, func(study experiments.Study) bool { return study.Report == experiments.Decodings })
}

// drawShrinkage draws the one figure of the paper that takes no network.
func drawShrinkage(backend compute.Backend, folder string) error {
	figure, err := decode.Shrinkage(backend)
	if err != nil {
		return err
	}
	return figure.Write(filepath.Join(folder, "figures", "shrinkage"))
}

// decode measures and draws the decodings of the study's trained networks, and reports them.
func (s studyRun) decode(ctx context.Context) error {
	groups, err := report.Collect(s.folder())
	if err != nil {
		return err
	}
	var all []report.Decodings
	for _, e := range s.study.Experiments {
		result := report.Latest(groups, e.Name)[0]
		fmt.Fprintf(s.stdout, "decoding %s from every level\n", e.Title)
		d := decoder{studyRun: s, result: result}
		if err := d.load(ctx); err != nil {
			return err
		}
		if err := d.measure(ctx); err != nil {
			return fmt.Errorf("decoding %s: %w", result.ID, err)
		}
		if err := d.draw(); err != nil {
			return fmt.Errorf("drawing decodings of %s: %w", result.ID, err)
		}
		all = append(all, d.decodings)
	}
	if err := report.WriteDecodings(s.results, s.study, all); err != nil {
		return err
	}
	return report.Write(s.results, s.profile) // the ledger rests on decodings, too
}

// decoder decodes one trained network.
type decoder struct {
	studyRun
	result train.Result

	trained, untrained decode.Model
	images             *tensors.Tensor // the first test images, preprocessed
	labels             []uint8
	decodings          report.Decodings
}

// load reads the network, makes it as it was before training, and prepares the images.
func (d *decoder) load(ctx context.Context) error {
	run := d.result.Run
	store, err := train.LoadModel(run, filepath.Join(d.folder(), report.RunsFolder, d.result.ID))
	if err != nil {
		return err
	}
	initial, err := train.InitialModel(d.lab.Backend, run)
	if err != nil {
		return err
	}
	d.trained = decode.Model{Backend: d.lab.Backend, Network: run.Network, Store: store}
	d.untrained = d.trained
	d.untrained.Store = initial
	d.images, d.labels, err = d.lab.TestImages(ctx, run, max(decodedImages, d.image+1))
	if err != nil {
		return err
	}
	if d.image >= len(d.labels) {
		return fmt.Errorf("--image %d: there are %d test images at profile %s, the first is 0", d.image, len(d.labels), run.Profile)
	}
	return nil
}

// measure measures decodings of the network, trained and untrained.
func (d *decoder) measure(ctx context.Context) (err error) {
	began := time.Now()
	count := min(decodedImages, len(d.labels))
	var first []int
	for i := range count {
		first = append(first, i)
	}
	images := dataset.Pick(d.images, first...)
	d.decodings = report.Decodings{Result: d.result, Images: count}
	if d.decodings.Trained, err = d.trained.Measure(ctx, images); err != nil {
		return err
	}
	if d.decodings.Untrained, err = d.untrained.Measure(ctx, images); err != nil {
		return err
	}
	d.decodings.Seconds = time.Since(began).Seconds() / 2
	return nil
}

// draw writes the network's figures.
func (d *decoder) draw() error {
	classes, run := d.lab.Set.Classes, d.result.Run
	which := fmt.Sprintf("%s, %s, profile %s", d.study.Experiments[0].Title, dataset.Title(run.Dataset), run.Profile)
	image := d.image
	if image < 0 {
		image = slices.Index(d.labels, 0)
	}
	shown := dataset.Pick(d.images, image)
	levels, err := d.trained.Decode(shown)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Test image %d (%s) decoded from each level, and class biases\n%s", image, classes[d.labels[image]], which)
	if err := d.write("levels", title, decode.Reconstructions(title, classes, shown, levels)); err != nil {
		return err
	}
	if run.Network.Channels == 1 {
		if err := d.drawResiduals(classes, which); err != nil {
			return err
		}
	}
	dictionary := run.Network.Layers[0].Name + "/dictionary"
	title = "Filters of the first block\n" + which
	return d.write("filters", title, decode.Dictionaries(title,
		run.Network.Variables(d.untrained.Store)[dictionary], run.Network.Variables(d.trained.Store)[dictionary]))
}

// drawResiduals draws what hypotheses change in the decodings of a digit of each class.
func (d *decoder) drawResiduals(classes []string, which string) error {
	var digits []int
	for class := range classes {
		if first := slices.Index(d.labels, uint8(class)); first >= 0 {
			digits = append(digits, first)
		}
	}
	images := dataset.Pick(d.images, digits...)
	levels, err := d.trained.Decode(images)
	if err != nil {
		return err
	}
	for _, level := range levels {
		if !slices.Contains(residualBlocks, level.Block) {
			continue
		}
		title := fmt.Sprintf("What a class hypothesis (columns) changes in the decoding from %s\n%s", level.Block, which)
		var labels []uint8
		for _, i := range digits {
			labels = append(labels, d.labels[i])
		}
		if err := d.write(level.Block, title, decode.Residuals(title, classes, images, labels, level)); err != nil {
			return err
		}
	}
	return nil
}

// write writes a figure, named after the study.
func (d *decoder) write(suffix, title string, figure plot.Figure) error {
	name := d.study.Name + "_" + suffix
	d.decodings.Pictures = append(d.decodings.Pictures, report.Picture{Title: title, File: name + ".png"})
	return figure.WritePNG(filepath.Join(d.folder(), "figures", name))
}
