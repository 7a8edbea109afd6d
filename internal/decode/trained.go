package decode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/tensor"
	"ebsscgo/internal/train"
)

// decodedImages is the number of test images that decodings are measured on, of which decodedBatch
// are decoded at a time.
const decodedImages, decodedBatch = 1000, 25

// Trained is the trained network of a run, on a backend. It classifies pictures and decodes images
// (Sec. 4.2).
type Trained struct {
	// Classes are the names of the classes.
	Classes []string

	run       experiments.Run
	model     *Model
	whitening *dataset.Whitening // nil for a run that is not whitened
}

// NewTrained returns the network of a run, whose variables are in store, with the run's whitening,
// nil for a run that is not whitened.
func NewTrained(backend compute.Backend, run experiments.Run, store *model.Store,
	whitening *dataset.Whitening) *Trained {
	n := &Trained{Classes: dataset.ClassesOf(run.Dataset.Name, run.Network.Classes), run: run,
		whitening: whitening, model: NewModel(backend, run, store)}
	if whitening != nil {
		n.model.Unwhiten = whitening.Inverse()
	}
	return n
}

// NewModel returns what decodes with the network of a run, whose variables are in store.
func NewModel(backend compute.Backend, run experiments.Run, store *model.Store) *Model {
	return &Model{Backend: backend, Store: store, Network: run.Network, Hyper: run.Hyper.Hyper,
		Ink: run.Network.Channels == 1 && run.Hyper.Preprocessing == experiments.Raw}
}

// Close frees the network's programs.
func (n *Trained) Close() { n.model.Close() }

// Measure measures the decodings of test images of the run by the network, and by the same network
// before training. With draw it draws them, too. It returns what a record keeps, and the pictures
// by the names of their files.
func (n *Trained) Measure(ctx context.Context, test dataset.Images, draw bool) (
	measured *record.Decodings, pictures map[string][]byte, err error) {
	count := min(decodedImages, test.Len())
	originals := test.Slice(0, count)
	images, err := train.Preprocess(n.model.Backend, n.run, n.whitening, originals)
	if err != nil {
		return nil, nil, err
	}
	n.model.Batch = min(decodedBatch, count)
	initial, err := train.InitialNetwork(n.model.Backend, n.run)
	if err != nil {
		return nil, nil, err
	}
	defer initial.Finalize()
	measured, pictures = &record.Decodings{Images: count}, map[string][]byte{}
	if draw {
		add := func(suffix string, figure plot.Figure) error {
			picture, err := figure.PNG()
			name := n.run.ID() + "_" + suffix + ".png"
			pictures[name] = picture
			measured.Figures = append(measured.Figures, record.Figure{File: name,
				Title: strings.Replace(figure.Title, "\n", ": ", 1), SHA256: safefile.Sum(picture)})
			return err
		}
		if err := n.draw(ctx, initial, originals, images, add); err != nil {
			return nil, nil, fmt.Errorf("drawing decodings: %w", err)
		}
	}
	began := time.Now()
	if measured.Trained, err = n.model.Measure(ctx, images); err != nil {
		return nil, nil, fmt.Errorf("measuring decodings: %w", err)
	}
	measured.Seconds = time.Since(began).Seconds()
	trained := n.run.Network.Variables(n.model.Store)
	defer func() { err = errors.Join(err, n.model.SetVariables(trained)) }()
	// The same compiled program measures the untrained network.
	if err := n.model.SetVariables(n.run.Network.Variables(initial)); err != nil {
		return nil, nil, err
	}
	if measured.Untrained, err = n.model.Measure(ctx, images); err != nil {
		return nil, nil, fmt.Errorf("measuring decodings before training: %w", err)
	}
	return measured, pictures, nil
}

// DecodeImage draws the decodings of one of the run's test images from every level.
func (n *Trained) DecodeImage(ctx context.Context, test dataset.Images,
	image int) (figure plot.Figure, err error) {
	original := test.Slice(image, image+1)
	seen, err := train.Preprocess(n.model.Backend, n.run, n.whitening, original)
	if err != nil {
		return figure, err
	}
	return n.levels(ctx, image, original, seen)
}

// Classify returns pictures of the size of the network's images as it sees them [N, H, W, C], and
// their class scores.
func (n *Trained) Classify(ctx context.Context, pictures dataset.Images) (*tensors.Tensor,
	ebssc.Scores, error) {
	return train.Classify(ctx, n.model.Backend, n.run, n.model.Store, n.whitening, pictures)
}

// Hypotheses draws a picture, as it is and as [Trained.Classify] returned it, decoded from each
// level under each class hypothesis.
func (n *Trained) Hypotheses(ctx context.Context, name string, original dataset.Images,
	picture *tensors.Tensor) (figure plot.Figure, err error) {
	levels, err := n.model.Decode(ctx, picture)
	if err != nil {
		return figure, err
	}
	title := n.title("%s decoded from each level: mean over class hypotheses, and differences from it",
		name)
	return Hypotheses(title, n.Classes, original.Tensor(), picture, levels), nil
}

// title is a figure's: what it shows, and in a second line of which network.
func (n *Trained) title(format string, values ...any) string {
	return fmt.Sprintf(format,
		values...) + fmt.Sprintf("\n%s, %s, width %d, %d images, %d epochs, seed %d",
		catalogue.All.Title(n.run.Experiment),
		dataset.Title(n.run.Dataset.Name), n.run.Width(), n.run.TrainImages, n.run.Epochs, n.run.Seed)
}

// levels draws the decodings of the test image of that number, as it is and as the network sees it.
func (n *Trained) levels(ctx context.Context, number int, original dataset.Images,
	seen *tensors.Tensor) (figure plot.Figure, err error) {
	levels, err := n.model.Decode(ctx, seen)
	if err != nil {
		return figure, err
	}
	title := n.title("Test image %d (%s) decoded from each level, and class biases less their mean",
		number, n.Classes[original.Labels[0]])
	return Reconstructions(title, n.Classes, original.Tensor(), seen, levels), nil
}

// draw draws the network's figures: of the first image of class 0, of a digit of each class, and of
// the first dictionary. images are originals as the network sees them.
func (n *Trained) draw(ctx context.Context, initial *model.Store, originals dataset.Images,
	images *tensors.Tensor, add func(suffix string, figure plot.Figure) error) error {
	first := max(0, slices.Index(originals.Labels, 0))
	figure, err := n.levels(ctx, first, originals.Slice(first, first+1), tensor.Pick(images, first))
	if err == nil {
		err = add("levels", figure)
	}
	if err == nil && n.run.Network.Channels == 1 {
		err = n.drawResiduals(ctx, originals, images, add)
	}
	if err != nil {
		return err
	}
	dictionary := n.run.Network.Blocks()[0].Name + "/dictionary"
	return add("filters", Dictionaries(n.title("Filters of the first block, before and after training"),
		n.run.Network.Variables(initial)[dictionary], n.run.Network.Variables(n.model.Store)[dictionary]))
}

// drawResiduals draws how hypotheses change the decodings of the first digit of each class that has
// one, from a low and a high block. add takes the figure of each block.
func (n *Trained) drawResiduals(ctx context.Context, originals dataset.Images,
	images *tensors.Tensor, add func(suffix string, figure plot.Figure) error) error {
	var numbers []int // of one image of each class
	var labels []uint16
	for class := range n.Classes {
		if first := slices.Index(originals.Labels, uint16(class)); first >= 0 {
			numbers, labels = append(numbers, first), append(labels, uint16(class))
		}
	}
	levels, err := n.model.Decode(ctx, tensor.Pick(images, numbers...))
	if err != nil {
		return err
	}
	digits := tensor.Pick(originals.Tensor(), numbers...)
	for _, level := range levels {
		if level.Block == "conv2" || level.Block == "conv5" {
			title := n.title("Differences from the mean over class hypotheses (columns), decoded from %s",
				level.Block)
			if err := add(level.Block, Residuals(title, n.Classes, digits, labels, level)); err != nil {
				return err
			}
		}
	}
	return nil
}
