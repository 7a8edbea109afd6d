package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/atomicfile"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

const (
	// decodedImages is the number of test images that decodings are measured on.
	decodedImages = 1000
	// decodedBatch is the number of images that are decoded at a time.
	decodedBatch = 25
)

// residualBlocks are the levels of the paper's Fig. 5.
var residualBlocks = []string{"conv2", "conv5"}

// decoder decodes a trained network (Sec. 4.2).
type decoder struct {
	session *Session
	runner  *train.Runner

	run     experiments.Run
	model   decode.Model
	images  *tensors.Tensor // the first test images, preprocessed
	labels  []uint8
	figures []record.Figure
}

// complete measures and draws the decodings of a run's trained network, and adds them to its record.
func (d *decoder) complete(ctx context.Context, r *record.Record) error {
	fmt.Fprintf(d.session.Out, "decoding %s from every level\n", r.Run.Experiment)
	if err := d.load(ctx, r.Run, decodedImages); err != nil {
		return err
	}
	defer d.model.Close()
	d.model.Batch = min(decodedBatch, len(d.labels))
	initial, err := train.InitialModel(d.runner.Backend, r.Run)
	if err != nil {
		return err
	}
	defer initial.Finalize()
	if err := d.draw(ctx, initial); err != nil {
		return fmt.Errorf("drawing decodings: %w", err)
	}
	measured, err := d.measure(ctx, initial)
	if err != nil {
		return fmt.Errorf("measuring decodings: %w", err)
	}
	measured.Figures = d.figures
	r.Decodings = measured
	return nil
}

// DecodeImage draws the decodings of one of the run's test images from every level of its network, by the runner that [Session.RunnerOf] returns.
func (s *Session) DecodeImage(ctx context.Context, runner *train.Runner, run experiments.Run, image int) (plot.Figure, error) {
	d := &decoder{session: s, runner: runner}
	if err := d.load(ctx, run, image+1); err != nil {
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
func (s *Session) Classify(ctx context.Context, runner *train.Runner, run experiments.Run, paths []string, pictures dataset.Images) iter.Seq2[Classified, error] {
	return func(yield func(Classified, error) bool) {
		store, err := train.LoadModel(run, s.Folder())
		if err != nil {
			yield(Classified{}, err)
			return
		}
		d := &decoder{session: s, runner: runner, run: run}
		d.model = Decoder(runner, run, store)
		defer d.model.Close()
		classify, release, err := runner.Classifier(ctx, run, store)
		if err != nil {
			yield(Classified{}, err)
			return
		}
		defer release()
		for i, path := range paths {
			if ctx.Err() != nil {
				yield(Classified{}, context.Cause(ctx))
				return
			}
			image, scores, err := classify(pictures.Slice(i, i+1))
			if err != nil {
				yield(Classified{}, err)
				return
			}
			c := Classified{Path: path, Scores: scores[0]}
			if run.Network.Classifier != ebssc.Linear {
				err = d.hypotheses(ctx, &c, image)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// hypotheses adds the energies of a classified picture, preprocessed in image, and draws it decoded under each class hypothesis.
func (d *decoder) hypotheses(ctx context.Context, c *Classified, image *tensors.Tensor) error {
	scale, _ := d.run.Settings.Number(ebssc.ParamEnergyScale)
	for _, score := range c.Scores {
		c.Energies = append(c.Energies, score/float32(scale))
	}
	levels, err := d.model.Decode(ctx, image)
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%s decoded from each level under each class hypothesis\n%s", filepath.Base(c.Path), d.subtitle())
	figure := decode.Hypotheses(title, d.runner.Set.Classes, image, levels)
	c.Hypotheses = &figure
	return nil
}

// Decoder decodes with the trained network of a run, whose variables are in store.
func Decoder(runner *train.Runner, run experiments.Run, store *model.Store) decode.Model {
	return decode.Model{Backend: runner.Backend, Network: run.Network, Store: store,
		Ink: run.Network.Channels == 1 && !run.Whitens()}
}

// load reads the trained network and prepares images.
func (d *decoder) load(ctx context.Context, run experiments.Run, images int) error {
	d.run = run
	store, err := train.LoadModel(run, d.session.Folder())
	if err != nil {
		return err
	}
	d.model = Decoder(d.runner, run, store)
	d.images, d.labels, err = d.runner.TestImages(ctx, run, images)
	return err
}

// measure measures decodings of the network, trained and then with its initial variables, which it keeps.
func (d *decoder) measure(ctx context.Context, initial *model.Store) (measured *record.Decodings, err error) {
	began := time.Now()
	measured = &record.Decodings{Images: len(d.labels)}
	if measured.Trained, err = d.model.Measure(ctx, d.images); err != nil {
		return nil, err
	}
	if err := d.model.SetVariables(initial); err != nil {
		return nil, err
	}
	if measured.Untrained, err = d.model.Measure(ctx, d.images); err != nil {
		return nil, err
	}
	measured.Seconds = time.Since(began).Seconds() / 2
	return measured, nil
}

// subtitle says which network a figure shows.
func (d *decoder) subtitle() string {
	return fmt.Sprintf("%s, %s, profile %s", Suite.Title(d.run.Experiment), dataset.Title(d.run.Dataset.Name), d.run.Profile)
}

// levels draws a test image decoded from every level.
func (d *decoder) levels(ctx context.Context, image int) (title string, figure plot.Figure, err error) {
	classes := d.runner.Set.Classes
	shown := dataset.Pick(d.images, image)
	levels, err := d.model.Decode(ctx, shown)
	if err != nil {
		return "", figure, err
	}
	kind := "Test"
	if d.run.HeldOut > 0 {
		kind = "Held-out"
	}
	title = fmt.Sprintf("%s image %d (%s) decoded from each level, and class biases\n%s", kind, image, classes[d.labels[image]], d.subtitle())
	return title, decode.Reconstructions(title, classes, shown, levels), nil
}

// draw writes the network's figures: of the first image of class 0, of a digit of each class, and of the first dictionary.
func (d *decoder) draw(ctx context.Context, initial *model.Store) error {
	title, figure, err := d.levels(ctx, max(0, slices.Index(d.labels, 0)))
	if err != nil {
		return err
	}
	if err := d.write("levels", title, figure); err != nil {
		return err
	}
	if d.run.Network.Channels == 1 {
		if err := d.drawResiduals(ctx); err != nil {
			return err
		}
	}
	dictionary := d.run.Network.Blocks()[0].Name + "/dictionary"
	title = "Filters of the first block\n" + d.subtitle()
	return d.write("filters", title, decode.Dictionaries(title,
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
	images := dataset.Pick(d.images, digits...)
	levels, err := d.model.Decode(ctx, images)
	if err != nil {
		return err
	}
	for _, level := range levels {
		if !slices.Contains(residualBlocks, level.Block) {
			continue
		}
		title := fmt.Sprintf("Changes by class hypothesis (columns) in the decoding from %s\n%s", level.Block, d.subtitle())
		if err := d.write(level.Block, title, decode.Residuals(title, classes, images, labels, level)); err != nil {
			return err
		}
	}
	return nil
}

// write writes a figure named after the run, and remembers its checksum for the record.
func (d *decoder) write(suffix, title string, figure plot.Figure) error {
	picture, err := figure.PNG()
	if err != nil {
		return err
	}
	name := d.run.ID() + "_" + suffix + ".png"
	folder := filepath.Join(d.session.Folder(), record.FiguresFolder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("a folder for figures: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(folder, name), picture); err != nil {
		return fmt.Errorf("writing a figure: %w", err)
	}
	sum := sha256.Sum256(picture)
	d.figures = append(d.figures, record.Figure{File: name, Title: title, SHA256: hex.EncodeToString(sum[:])})
	return nil
}
