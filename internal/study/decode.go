package study

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// decodedImages is the number of test images that decodings are measured on, of which decodedBatch are decoded at a time.
const decodedImages, decodedBatch = 1000, 25

// residualBlocks are the levels of the paper's Fig. 5.
var residualBlocks = []string{"conv2", "conv5"}

// decoder decodes a trained network (Sec. 4.2).
type decoder struct {
	runner *train.Runner
	run    experiments.Run
	model  decode.Model
	images *tensors.Tensor // the first test images, preprocessed
	labels []uint8
	// figures that were drawn, and their PNG files, in folder, by their paths.
	figures []record.Figure
	folder  string
	files   map[string][]byte
}

// newDecoder prepares images for the trained network in a store.
func newDecoder(ctx context.Context, runner *train.Runner, run experiments.Run, store *model.Store, images int) (*decoder, error) {
	d := &decoder{runner: runner, run: run, model: Decoder(runner, run, store), files: map[string][]byte{}}
	var err error
	d.images, d.labels, d.model.Unwhiten, err = runner.TestImages(ctx, run, images)
	return d, err
}

// Decoder decodes with the trained network of a run, whose variables are in store.
func Decoder(runner *train.Runner, run experiments.Run, store *model.Store) decode.Model {
	return decode.Model{Backend: runner.Backend, Network: run.Network, Hyper: run.Hyper.Hyper, Store: store,
		Ink: run.Network.Channels == 1 && run.Hyper.Preprocessing == experiments.Raw}
}

// decodeTrained measures the decodings of a trained network, and draws those of the first seed. It returns what a record keeps, and the pictures' files,
// to be written into a folder, by their paths. Afterwards the store has the initial variables.
func decodeTrained(ctx context.Context, runner *train.Runner, r record.Record, store *model.Store, folder string) (
	*record.Decodings, map[string][]byte, error) {
	d, err := newDecoder(ctx, runner, r.Run, store, decodedImages)
	if err != nil {
		return nil, nil, err
	}
	defer d.model.Close()
	d.folder, d.model.Batch = folder, min(decodedBatch, len(d.labels))
	initial, err := train.InitialNetwork(runner.Backend, r.Run)
	if err != nil {
		return nil, nil, err
	}
	defer initial.Finalize()
	if r.Run.Seed == 1 && r.Learned() { // reports show no other
		if err := d.draw(ctx, initial); err != nil {
			return nil, nil, fmt.Errorf("drawing decodings: %w", err)
		}
	}
	began := time.Now()
	measured := &record.Decodings{Images: len(d.labels), Figures: d.figures}
	if measured.Trained, err = d.model.Measure(ctx, d.images); err != nil {
		return nil, nil, fmt.Errorf("measuring decodings: %w", err)
	}
	measured.Seconds = time.Since(began).Seconds()
	if err := d.model.SetVariables(initial); err != nil { // the same compiled program
		return nil, nil, err
	}
	if measured.Untrained, err = d.model.Measure(ctx, d.images); err != nil {
		return nil, nil, fmt.Errorf("measuring decodings before training: %w", err)
	}
	return measured, d.files, nil
}

// DecodeImage draws the decodings of one of the run's test images from every level of its network, by the runner that [Session.RunnerOf] returns.
func (s *Session) DecodeImage(ctx context.Context, runner *train.Runner, r record.Record, image int) (plot.Figure, error) {
	store, err := train.LoadNetwork(r, s.Folder(r.Run.Dataset.Name))
	if err != nil {
		return plot.Figure{}, err
	}
	d, err := newDecoder(ctx, runner, r.Run, store, image+1)
	if err != nil {
		return plot.Figure{}, err
	}
	defer d.model.Close()
	_, figure, err := d.levels(ctx, image)
	return figure, err
}

// Classified is a picture with a network's class scores.
type Classified struct {
	// Path of the picture.
	Path string
	// Scores of the classes: the logits of the softmax.
	Scores []float32
	// Energies of the classes minus their mean; nil for networks without class-specific codes.
	Energies []float32
	// Hypotheses draws the picture decoded under each class hypothesis; nil for networks without class-specific codes.
	Hypotheses *plot.Figure
}

// Classify yields for each picture, read from paths at the size of the network's images, its class scores with the trained network of a run,
// and its decodings under each hypothesis. runner is the one that [Session.RunnerOf] returns. The first error is the last thing that it yields.
func (s *Session) Classify(ctx context.Context, runner *train.Runner, r record.Record, paths []string, pictures dataset.Images) iter.Seq2[Classified, error] {
	return func(yield func(Classified, error) bool) {
		if err := s.classify(ctx, runner, r, paths, pictures, func(c Classified) bool { return yield(c, nil) }); err != nil {
			yield(Classified{}, err)
		}
	}
}

// classify yields classified pictures until it is told to stop.
func (s *Session) classify(
	ctx context.Context, runner *train.Runner, r record.Record, paths []string, pictures dataset.Images, yield func(Classified) bool) error {
	store, err := train.LoadNetwork(r, s.Folder(r.Run.Dataset.Name))
	if err != nil {
		return err
	}
	d := &decoder{runner: runner, run: r.Run, model: Decoder(runner, r.Run, store)}
	defer d.model.Close()
	images, scores, err := runner.Classify(ctx, r.Run, store, pictures)
	if err != nil {
		return err
	}
	for i, path := range paths {
		c := Classified{Path: path, Scores: scores[i]}
		if r.Run.Network.Classifier != ebssc.Linear {
			for _, score := range c.Scores {
				c.Energies = append(c.Energies, score/float32(r.Run.Hyper.EnergyScale))
			}
			levels, err := d.model.Decode(ctx, images[i])
			if err != nil {
				return err
			}
			title := d.title("%s decoded from each level: mean over class hypotheses, and differences from it", filepath.Base(path))
			c.Hypotheses = new(decode.Hypotheses(title, runner.Set.Classes, pictures.Slice(i, i+1).Tensor(), images[i], levels))
		}
		if !yield(c) {
			return nil
		}
	}
	return nil
}

// title is a figure's: what it shows, and in a second line of which network.
func (d *decoder) title(format string, values ...any) string {
	return fmt.Sprintf(format, values...) + fmt.Sprintf("\n%s, %s, width %d, %d images, %d epochs, seed %d", Suite.Title(d.run.Experiment),
		dataset.Title(d.run.Dataset.Name), d.run.Width(), d.run.TrainImages, d.run.Epochs, d.run.Seed)
}

// levels draws a test image decoded from every level.
func (d *decoder) levels(ctx context.Context, image int) (title string, figure plot.Figure, err error) {
	classes := d.runner.Set.Classes
	shown := dataset.Pick(d.images, image)
	levels, err := d.model.Decode(ctx, shown)
	if err != nil {
		return "", figure, err
	}
	title = d.title("Test image %d (%s) decoded from each level, and class biases less their mean", image, classes[d.labels[image]])
	return title, decode.Reconstructions(title, classes, d.runner.Set.Test.Slice(image, image+1).Tensor(), shown, levels), nil
}

// draw draws the network's figures: of the first image of class 0, of a digit of each class, and of the first dictionary.
func (d *decoder) draw(ctx context.Context, initial *model.Store) error {
	title, figure, err := d.levels(ctx, max(0, slices.Index(d.labels, 0)))
	if err == nil {
		err = d.add("levels", title, figure)
	}
	if err == nil && d.run.Network.Channels == 1 {
		err = d.drawResiduals(ctx)
	}
	if err != nil {
		return err
	}
	dictionary := d.run.Network.Blocks()[0].Name + "/dictionary"
	title = d.title("Filters of the first block, before and after training")
	return d.add("filters", title, decode.Dictionaries(title,
		d.run.Network.Variables(initial)[dictionary], d.run.Network.Variables(d.model.Store)[dictionary]))
}

// drawResiduals draws how hypotheses change the decodings of a digit of each class.
func (d *decoder) drawResiduals(ctx context.Context) error {
	classes := d.runner.Set.Classes
	var digits []int
	var labels []uint8
	for class := range classes {
		if first := slices.Index(d.labels, uint8(class)); first >= 0 {
			digits, labels = append(digits, first), append(labels, uint8(class))
		}
	}
	levels, err := d.model.Decode(ctx, dataset.Pick(d.images, digits...))
	if err != nil {
		return err
	}
	originals := dataset.Pick(d.runner.Set.Test.Slice(0, len(d.labels)).Tensor(), digits...)
	for _, level := range levels {
		if slices.Contains(residualBlocks, level.Block) {
			title := d.title("Differences from the mean over class hypotheses (columns), decoded from %s", level.Block)
			if err := d.add(level.Block, title, decode.Residuals(title, classes, originals, labels, level)); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a figure, in a file named after the run.
func (d *decoder) add(suffix, title string, figure plot.Figure) error {
	picture, err := figure.PNG()
	if err != nil {
		return err
	}
	name := d.run.ID() + "_" + suffix + ".png"
	d.files[filepath.Join(d.folder, name)] = picture
	d.figures = append(d.figures, record.Figure{
		File: name, Title: strings.Replace(title, "\n", ": ", 1), SHA256: fmt.Sprintf("%x", sha256.Sum256(picture))})
	return nil
}
