package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/experiments"
	"ebsscgo/internal/atomicfile"
	"ebsscgo/internal/dataset"
)

// Networks is the folder of trained networks in a profile's results. Each finished run has one file there, <ID>.npz: the network's
// variables by name ("conv1/dictionary"), and the run's description, JSON in bytes ("run"): layers with strides and paddings,
// codings, preprocessing, and all settings. docs/scores.py reads it with NumPy alone.
const Networks = "networks"

// runName is the array of a network's file that holds the run's description.
const runName = "run"

// exportedImages is the number of test images in an export.
const exportedImages = 64

// NetworkFile is the file of a run's trained network; folder is that of the profile's results.
func NetworkFile(folder, id string) string { return filepath.Join(folder, Networks, id+".npz") }

// saveNetwork writes the trained network of the run.
func (s *trainingRun) saveNetwork() error {
	path := NetworkFile(s.folder, s.id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("a folder for networks: %w", err)
	}
	content := s.run.Network.Variables(s.store)
	return writeArrays(path, s.run, content)
}

// writeArrays writes arrays and the run's description to an .npz file in one step.
func writeArrays(path string, run experiments.Run, arrays map[string]*tensors.Tensor) error {
	text, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	arrays[runName] = tensors.FromValue(text)
	pending, err := atomicfile.Create(path)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer pending.Cleanup()
	if err := numpy.ToNpzWriter(arrays, pending); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return pending.CloseAtomicallyReplace()
}

// LoadModel reads the trained network of a run; folder is that of the profile's results.
func LoadModel(run experiments.Run, folder string) (*model.Store, error) {
	path := NetworkFile(folder, run.ID())
	store, err := readNetwork(run, path)
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the trained network of %s is not here (%s): train it again with --results and another folder", run.ID(), path)
	case errors.As(err, &errno): // the network may well be good
		return nil, fmt.Errorf("reading network %s: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("network %s is not good (%w): remove it and the record, and run the experiment again", path, err)
	}
	return store, nil
}

// readNetwork reads and verifies the network of a run.
func readNetwork(run experiments.Run, path string) (*model.Store, error) {
	arrays, err := readArrays(path)
	if err != nil {
		return nil, err
	}
	text, err := takeText(arrays, runName)
	if err != nil {
		return nil, fmt.Errorf("its run cannot be read: %w", err)
	}
	want, err := json.Marshal(run)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(text, want) {
		return nil, errors.New("it is of another run")
	}
	if err := checkVariables(run, arrays); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(arrays))
	store := newStore(run)
	store.SetLoader(loader(arrays))
	for _, name := range names {
		store.GetVariable(name) // which loads it
	}
	return store, nil
}

// InitialModel returns the model of a run before training.
func InitialModel(backend compute.Backend, run experiments.Run) (*model.Store, error) {
	store := newStore(run)
	if err := store.SetRNGStateFromSeed(int64(run.Seed)); err != nil {
		return nil, fmt.Errorf("seeding the model of %s: %w", run.Experiment, err)
	}
	evaluator, err := newEvaluator(backend, store, run.Network)
	if err != nil {
		return nil, err
	}
	defer evaluator.exec.Finalize()
	n := run.Network
	blank := tensors.FromShape(shapes.Make(dtypes.Float32, 1, n.Height, n.Width, n.Channels))
	if _, err := evaluator.exec.Call(blank); err != nil {
		return nil, fmt.Errorf("making the variables of %s: %w", run.Experiment, err)
	}
	return store, nil
}

// TestImages returns the first test images of a run, up to count, preprocessed [N, H, W, C], and their labels.
func (r *Runner) TestImages(ctx context.Context, run experiments.Run, count int) (*tensors.Tensor, []uint8, error) {
	prepared, release, err := r.acquireImages(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	count = min(count, prepared.test.NumExamples())
	for batch, err := range prepared.test.Copy().BatchSize(count, true).Iter() {
		if err != nil {
			return nil, nil, fmt.Errorf("reading images: %w", err)
		}
		return batch.Inputs[0], prepared.testLabels[:count], nil
	}
	return nil, nil, errors.New("there are no test images")
}

// Classifier returns a function that preprocesses pictures as the run's images were, to images [N, H, W, C], and computes their class scores
// with a trained network. release frees it.
func (r *Runner) Classifier(ctx context.Context, run experiments.Run, store *model.Store) (
	classify func(pictures dataset.Images) (images *tensors.Tensor, scores Scores, err error), release func(), err error) {
	preprocess, err := r.preprocessing(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	evaluator, err := newEvaluator(r.Backend, store, run.Network)
	if err != nil {
		return nil, nil, err
	}
	return func(pictures dataset.Images) (images *tensors.Tensor, scores Scores, err error) {
		if images, err = preprocess(pictures); err != nil {
			return nil, nil, err
		}
		scores, _, err = evaluator.score(images)
		return images, scores, err
	}, evaluator.exec.Finalize, nil
}

// Export writes a trained network as in [Networks], and with it the first 64 preprocessed test images ("images" [64, H, W, C]), their
// labels ("labels" [64]) and the model's class scores ("logits" [64, Y]).
func (r *Runner) Export(ctx context.Context, run experiments.Run, store *model.Store, file string) error {
	content := run.Network.Variables(store)
	images, classes, err := r.TestImages(ctx, run, exportedImages)
	if err != nil {
		return err
	}
	evaluator, err := newEvaluator(r.Backend, store, run.Network)
	if err != nil {
		return err
	}
	defer evaluator.exec.Finalize()
	scores, _, err := evaluator.score(images)
	if err != nil {
		return err
	}
	labels := make([]int32, len(classes))
	for i, class := range classes {
		labels[i] = int32(class)
	}
	content["images"] = images
	content["labels"] = tensors.FromValue(labels)
	content["logits"] = tensors.FromValue([][]float32(scores))
	return writeArrays(file, run, content)
}
