package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/google/renameio/v2"

	"ebsscgo/experiments"
)

// exportedImages is the number of test images in an export.
const exportedImages = 64

// LoadModel reads the trained model of a run from its newest checkpoint in folder/checkpoints. No earlier checkpoint stands in for
// one that is not good.
func LoadModel(run experiments.Run, folder string) (*model.Store, error) {
	path := filepath.Join(folder, Checkpoints, run.ID()+newestSuffix)
	variables, p, err := read(run, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the trained model of %s is not here (%s): train it again with --results and another folder", run.ID(), path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the model of %s: checkpoint %s is not good (%w): remove it and the record, and run the experiment again", run.ID(), path, err)
	}
	if len(p.Curve) < run.Epochs {
		return nil, fmt.Errorf("reading the model of %s: checkpoint %s has finished %d of %d epochs: run the experiment again",
			run.ID(), path, len(p.Curve), run.Epochs)
	}
	names := slices.Sorted(maps.Keys(variables))
	store, _ := storeWith(run, variables)
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

// Export writes a trained model to an .npz file: its variables by name ("conv1/dictionary"), the first 64 preprocessed
// test images ("images" [64, H, W, C]), their labels ("labels" [64]) and the model's class scores ("logits" [64, Y]).
func (r *Runner) Export(ctx context.Context, run experiments.Run, folder, file string) error {
	store, err := LoadModel(run, folder)
	if err != nil {
		return err
	}
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
	prepared, release, err := r.acquireImages(ctx, run)
	if err != nil {
		return err
	}
	defer release()
	scores, _, err := evaluator.scores(ctx, prepared.test, len(classes))
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
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file: name another one with --out", file)
	}
	pending, err := renameio.NewPendingFile(file, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	defer pending.Cleanup()
	if err := numpy.ToNpzWriter(content, pending); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return pending.CloseAtomicallyReplace()
}
