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
	originals dataset.Images     // the images that are decoded
	images    *tensors.Tensor    // the same as the network sees them
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

// see takes images to decode.
func (n *Trained) see(images dataset.Images) (err error) {
	n.originals = images
	n.images, err = train.Preprocess(n.model.Backend, n.run, n.whitening, images)
	return err
}

// Measure measures the decodings of test images of the run by the network, and by the same network
// before training. With draw it draws them, too. It returns what a record keeps, and the pictures
// by the names of their files.
func (n *Trained) Measure(ctx context.Context, test dataset.Images, draw bool) (
	measured *record.Decodings, pictures map[string][]byte, err error) {
	count := min(decodedImages, test.Len())
	if err := n.see(test.Slice(0, count)); err != nil {
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
		add := func(suffix, title string, figure plot.Figure) error {
			picture, err := figure.PNG()
			name := n.run.ID() + "_" + suffix + ".png"
			pictures[name] = picture
			measured.Figures = append(measured.Figures, record.Figure{File: name,
				Title: strings.Replace(title, "\n", ": ", 1), SHA256: safefile.Sum(picture)})
			return err
		}
		if err := n.draw(ctx, initial, add); err != nil {
			return nil, nil, fmt.Errorf("drawing decodings: %w", err)
		}
	}
	began := time.Now()
	if measured.Trained, err = n.model.Measure(ctx, n.images); err != nil {
		return nil, nil, fmt.Errorf("measuring decodings: %w", err)
	}
	measured.Seconds = time.Since(began).Seconds()
	trained := n.run.Network.Variables(n.model.Store)
	defer func() { err = errors.Join(err, n.model.SetVariables(trained)) }()
	// The same compiled program measures the untrained network.
	if err := n.model.SetVariables(n.run.Network.Variables(initial)); err != nil {
		return nil, nil, err
	}
	if measured.Untrained, err = n.model.Measure(ctx, n.images); err != nil {
		return nil, nil, fmt.Errorf("measuring decodings before training: %w", err)
	}
	return measured, pictures, nil
}

// DecodeImage draws the decodings of one of the run's test images from every level.
func (n *Trained) DecodeImage(ctx context.Context, test dataset.Images,
	image int) (figure plot.Figure, err error) {
	if err := n.see(test.Slice(image, image+1)); err != nil {
		return figure, err
	}
	_, figure, err = n.levels(ctx, 0, image)
	return figure, err
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

// levels draws the decodings of image i of those that are decoded, which is number image of the
// test images. It also returns the figure's title.
func (n *Trained) levels(ctx context.Context, i, image int) (title string, figure plot.Figure,
	err error) {
	shown := tensor.Pick(n.images, i)
	levels, err := n.model.Decode(ctx, shown)
	if err != nil {
		return "", figure, err
	}
	title = n.title("Test image %d (%s) decoded from each level, and class biases less their mean",
		image, n.Classes[n.originals.Labels[i]])
	return title, Reconstructions(title, n.Classes, n.originals.Slice(i, i+1).Tensor(), shown,
		levels), nil
}

// draw draws the network's figures: of the first image of class 0, of a digit of each class, and of
// the first dictionary.
func (n *Trained) draw(ctx context.Context, initial *model.Store,
	add func(suffix, title string, figure plot.Figure) error) error {
	first := max(0, slices.Index(n.originals.Labels, 0))
	title, figure, err := n.levels(ctx, first, first)
	if err == nil {
		err = add("levels", title, figure)
	}
	if err == nil && n.run.Network.Channels == 1 {
		err = n.drawResiduals(ctx, add)
	}
	if err != nil {
		return err
	}
	dictionary := n.run.Network.Blocks()[0].Name + "/dictionary"
	title = n.title("Filters of the first block, before and after training")
	return add("filters", title, Dictionaries(title,
		n.run.Network.Variables(initial)[dictionary], n.run.Network.Variables(n.model.Store)[dictionary]))
}

// drawResiduals draws how hypotheses change the decodings of a digit of each class.
func (n *Trained) drawResiduals(ctx context.Context,
	add func(suffix, title string, figure plot.Figure) error) error {
	var numbers []int // of one image of each class
	var labels []uint16
	for class := range n.Classes {
		if first := slices.Index(n.originals.Labels, uint16(class)); first >= 0 {
			numbers, labels = append(numbers, first), append(labels, uint16(class))
		}
	}
	levels, err := n.model.Decode(ctx, tensor.Pick(n.images, numbers...))
	if err != nil {
		return err
	}
	originals := tensor.Pick(n.originals.Tensor(), numbers...)
	for _, level := range levels {
		if level.Block == "conv2" || level.Block == "conv5" {
			title := n.title("Differences from the mean over class hypotheses (columns), decoded from %s",
				level.Block)
			if err := add(level.Block, title, Residuals(title, n.Classes, originals, labels,
				level)); err != nil {
				return err
			}
		}
	}
	return nil
}
