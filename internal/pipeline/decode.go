package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
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
	"ebsscgo/internal/decode"
	"ebsscgo/internal/device"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/tensor"
	"ebsscgo/internal/train"
)

// decodedImages is the number of test images that decodings are measured on, of which decodedBatch are decoded at a time.
const decodedImages, decodedBatch = 1000, 25

// Network is the trained network of a run, on a backend, and decodes its images (Sec. 4.2).
type Network struct {
	// Classes are the names of the classes.
	Classes []string

	run       experiments.Run
	model     decode.Model
	whitening *dataset.Whitening // nil for a run that is not whitened
	originals dataset.Images     // the first test images
	images    *tensors.Tensor    // the same as the network sees them
	labels    []uint8
}

// Decoder decodes with the trained network of a run, whose variables are in store.
func Decoder(backend compute.Backend, run experiments.Run, store *model.Store) decode.Model {
	return decode.Model{Backend: backend, Network: run.Network, Hyper: run.Hyper.Hyper, Store: store,
		Ink: run.Network.Channels == 1 && run.Hyper.Preprocessing == experiments.Raw}
}

// decodeTrained measures the decodings of a trained network, and draws those of the first seed. It returns what a record keeps, and adds the
// pictures, to be written into a folder, to files, by their paths. Afterwards the store cannot be used.
func decodeTrained(ctx context.Context, runner *train.Runner, r record.Record, store *model.Store, folder string, files map[string][]byte) (
	measured *record.Decodings, err error) {
	n := &Network{Classes: runner.Set.Classes, run: r.Run, originals: runner.Set.Test, model: Decoder(runner.Backend, r.Run, store)}
	defer n.model.Close()
	if n.images, n.labels, n.whitening, err = runner.TestImages(ctx, r.Run, decodedImages); err != nil {
		return nil, err
	}
	n.unwhiten()
	n.model.Batch = min(decodedBatch, len(n.labels))
	initial, err := train.InitialNetwork(runner.Backend, r.Run)
	if err != nil {
		return nil, err
	}
	defer initial.Finalize()
	measured = &record.Decodings{Images: len(n.labels)}
	if r.Run.Seed == 1 && r.Learned() { // reports show no other
		add := func(suffix, title string, figure plot.Figure) error {
			picture, err := figure.PNG()
			name := r.Run.ID() + "_" + suffix + ".png"
			files[filepath.Join(folder, name)] = picture
			measured.Figures = append(measured.Figures, record.Figure{
				File: name, Title: strings.Replace(title, "\n", ": ", 1), SHA256: safefile.Sum(picture)})
			return err
		}
		if err := n.draw(ctx, initial, add); err != nil {
			return nil, fmt.Errorf("drawing decodings: %w", err)
		}
	}
	began := time.Now()
	if measured.Trained, err = n.model.Measure(ctx, n.images); err != nil {
		return nil, fmt.Errorf("measuring decodings: %w", err)
	}
	measured.Seconds = time.Since(began).Seconds()
	if err := n.model.SetVariables(initial); err != nil { // the same compiled program
		return nil, err
	}
	if measured.Untrained, err = n.model.Measure(ctx, n.images); err != nil {
		return nil, fmt.Errorf("measuring decodings before training: %w", err)
	}
	return measured, nil
}

// unwhiten lets the model take whitened images back.
func (n *Network) unwhiten() {
	if n.whitening != nil {
		n.model.Unwhiten = n.whitening.Inverse()
	}
}

// Open reads the trained network of a recorded run from its folder of results, with its whitening, and
// starts a backend. Only where the whitening is not beside the network it finds the data set, to fit
// it again. Close frees all.
func Open(ctx context.Context, o Options, folder string, r record.Record) (*Network, error) {
	store, err := train.LoadNetwork(r, folder)
	if err != nil {
		return nil, err
	}
	backend, choice, err := device.Open(ctx, o.Backend, 1)
	if err != nil {
		return nil, err
	}
	if choice.Warning != "" {
		fmt.Fprintln(o.Out, "warning: "+choice.Warning)
	}
	n := &Network{Classes: dataset.ClassesOf(r.Run.Dataset.Name), run: r.Run, model: Decoder(backend, r.Run, store)}
	n.whitening, err = train.LoadWhitening(backend, folder, r.Run)
	if errors.Is(err, fs.ErrNotExist) {
		n.whitening, err = fitAgain(ctx, o, backend, r)
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	n.unwhiten()
	return n, nil
}

// fitAgain fits the whitening of a run on its training images.
func fitAgain(ctx context.Context, o Options, backend compute.Backend, r record.Record) (*dataset.Whitening, error) {
	set, err := trainedOn(ctx, o, r)
	if err != nil {
		return nil, err
	}
	return (&train.Runner{Backend: backend, Set: set, Log: o.Out}).Whitening(ctx, r.Run)
}

// trainedOn finds the data set that a run was trained on, or a copy of it.
func trainedOn(ctx context.Context, o Options, r record.Record) (*dataset.Set, error) {
	study, _, err := catalogue.All.Experiment(r.Run.Experiment)
	if err != nil {
		return nil, err
	}
	kind, standsIn := study.Images, dataset.StandsIn(r.Run.Dataset.Name)
	if standsIn {
		kind = experiments.MNIST
	}
	set, err := dataset.Local(kind, o.Data)
	if err == nil && set == nil {
		set, err = dataset.Find(ctx, kind, o.Data, o.Out)
	}
	if err != nil {
		return nil, err
	}
	if standsIn {
		set = set.Padded32()
	}
	switch here, there := set.Dataset(), r.Run.Dataset; {
	case dataset.Copies(here, there):
		fmt.Fprintf(o.Out, "%s was trained on %s; it sees the same pictures here as %s\n",
			r.ID, dataset.Title(there.Name), dataset.Title(here.Name))
	case here != there:
		return nil, fmt.Errorf("%s was trained on %s with SHA-256 %s, but the data here is %s with %s: give the same with --data",
			r.ID, there.Name, there.SHA256, here.Name, here.SHA256)
	}
	return set, nil
}

// Halve replaces the file of a recorded run's network, in its folder of results, by one in half
// precision, and puts its whitening beside it: what a user needs who gets the network. It returns how
// many of the run's test images it gives another class than the record says.
func Halve(ctx context.Context, o Options, folder string, r record.Record) (changed int, err error) {
	store, err := train.LoadNetwork(r, folder)
	if err != nil {
		return 0, err
	}
	file, err := train.EncodeHalf(r.Run, store)
	if err != nil {
		return 0, err
	}
	if safefile.Sum(file) != r.Network.HalfSHA256 {
		return 0, fmt.Errorf("%s was recorded when half precision was rounded otherwise: train it again with %s", r.ID, r.Command)
	}
	set, err := trainedOn(ctx, o, r)
	if err != nil {
		return 0, err
	}
	backend, _, err := device.Open(ctx, o.Backend, 1)
	if err != nil {
		return 0, err
	}
	runner := &train.Runner{Backend: backend, Set: set, Log: o.Out}
	err = runner.SaveWhitening(ctx, folder, r.Run)
	backend.Finalize()
	if err != nil {
		return 0, err
	}
	if err := safefile.Write(record.NetworkFile(folder, r.ID), file); err != nil {
		return 0, err
	}
	n, err := Open(ctx, o, folder, r)
	if err != nil {
		return 0, err
	}
	defer n.Close()
	_, scores, err := n.Classify(ctx, set.Test.Slice(0, r.Run.TestImages))
	if err != nil {
		return 0, err
	}
	for i, class := range scores.Predictions() {
		if r.Predictions[i] != '0'+class {
			changed++
		}
	}
	return changed, nil
}

// Close frees the network and the backend.
func (n *Network) Close() {
	n.model.Close()
	n.model.Backend.Finalize()
}

// DecodeImage draws the decodings of one of the test images of a recorded run from every level.
func (n *Network) DecodeImage(ctx context.Context, o Options, r record.Record, image int) (figure plot.Figure, err error) {
	set, err := trainedOn(ctx, o, r)
	if err != nil {
		return figure, err
	}
	n.originals = set.Test.Slice(0, image+1)
	n.labels = n.originals.Labels
	if n.images, err = train.Preprocess(n.model.Backend, n.run, n.whitening, n.originals); err != nil {
		return figure, err
	}
	_, figure, err = n.levels(ctx, image)
	return figure, err
}

// Classify returns pictures of the size of the network's images as it sees them [N, H, W, C], and their
// class scores.
func (n *Network) Classify(ctx context.Context, pictures dataset.Images) (*tensors.Tensor, ebssc.Scores, error) {
	return train.Classify(ctx, n.model.Backend, n.run, n.model.Store, n.whitening, pictures)
}

// Hypotheses draws a picture, as it is and as [Network.Classify] returned it, decoded from each level under each class hypothesis.
func (n *Network) Hypotheses(ctx context.Context, name string, original dataset.Images, picture *tensors.Tensor) (figure plot.Figure, err error) {
	levels, err := n.model.Decode(ctx, picture)
	if err != nil {
		return figure, err
	}
	title := n.title("%s decoded from each level: mean over class hypotheses, and differences from it", name)
	return decode.Hypotheses(title, n.Classes, original.Tensor(), picture, levels), nil
}

// title is a figure's: what it shows, and in a second line of which network.
func (n *Network) title(format string, values ...any) string {
	return fmt.Sprintf(format, values...) + fmt.Sprintf("\n%s, %s, width %d, %d images, %d epochs, seed %d", catalogue.All.Title(n.run.Experiment),
		dataset.Title(n.run.Dataset.Name), n.run.Width(), n.run.TrainImages, n.run.Epochs, n.run.Seed)
}

func (n *Network) levels(ctx context.Context, image int) (title string, figure plot.Figure, err error) {
	shown := tensor.Pick(n.images, image)
	levels, err := n.model.Decode(ctx, shown)
	if err != nil {
		return "", figure, err
	}
	title = n.title("Test image %d (%s) decoded from each level, and class biases less their mean", image, n.Classes[n.labels[image]])
	return title, decode.Reconstructions(title, n.Classes, n.originals.Slice(image, image+1).Tensor(), shown, levels), nil
}

// draw draws the network's figures: of the first image of class 0, of a digit of each class, and of the first dictionary.
func (n *Network) draw(ctx context.Context, initial *model.Store, add func(suffix, title string, figure plot.Figure) error) error {
	title, figure, err := n.levels(ctx, max(0, slices.Index(n.labels, 0)))
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
	return add("filters", title, decode.Dictionaries(title,
		n.run.Network.Variables(initial)[dictionary], n.run.Network.Variables(n.model.Store)[dictionary]))
}

// drawResiduals draws how hypotheses change the decodings of a digit of each class.
func (n *Network) drawResiduals(ctx context.Context, add func(suffix, title string, figure plot.Figure) error) error {
	var digits []int
	var labels []uint8
	for class := range n.Classes {
		if first := slices.Index(n.labels, uint8(class)); first >= 0 {
			digits, labels = append(digits, first), append(labels, uint8(class))
		}
	}
	levels, err := n.model.Decode(ctx, tensor.Pick(n.images, digits...))
	if err != nil {
		return err
	}
	originals := tensor.Pick(n.originals.Slice(0, len(n.labels)).Tensor(), digits...)
	for _, level := range levels {
		if level.Block == "conv2" || level.Block == "conv5" {
			title := n.title("Differences from the mean over class hypotheses (columns), decoded from %s", level.Block)
			if err := add(level.Block, title, decode.Residuals(title, n.Classes, originals, labels, level)); err != nil {
				return err
			}
		}
	}
	return nil
}
