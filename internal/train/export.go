package train

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/google/renameio/v2"

	"ebsscgo/experiments"
)

// exportedImages is how many test images an export holds.
const exportedImages = 64

// FindRun finds a finished run by its ID in the runs of all profiles below a results folder.
func FindRun(results, id string) (run experiments.Run, folder string, err error) {
	profiles, err := os.ReadDir(results)
	if err != nil {
		return run, "", fmt.Errorf("reading results: %w", err)
	}
	for _, profile := range profiles {
		if _, err := os.Stat(filepath.Join(results, profile.Name(), "runs", id)); err == nil {
			folder = filepath.Join(results, profile.Name(), "runs", id)
		}
	}
	if folder == "" || id == "" {
		return run, "", fmt.Errorf("there is no run %q in %s: IDs are the names of the folders in %s", id, results,
			filepath.Join(results, "<profile>", "runs"))
	}
	result, ok, err := Load(folder)
	if err != nil {
		return run, "", err
	}
	if !ok {
		return run, "", fmt.Errorf("run %q is not finished: run its experiment again, it goes on from where it was", id)
	}
	return result.Run, folder, nil
}

// LoadModel reads the trained model of a run from its folder. No earlier checkpoint stands in for one that is not good.
func LoadModel(run experiments.Run, folder string) (*model.Store, error) {
	checkpoints := filepath.Join(folder, checkpointFolder)
	name, err := newest(checkpoints)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fmt.Errorf("%s has no checkpoint: remove the folder and run the experiment again", folder)
	}
	store, handler, _, err := open(run, checkpoints, name)
	if err != nil {
		return nil, fmt.Errorf("reading the model of %s: checkpoint %s is not good (%w): remove the folder and run the experiment again", folder, name, err)
	}
	for _, path := range slices.Sorted(maps.Keys(loaded(handler))) {
		store.GetVariable(path) // which reads it
	}
	if step := int(optimizer.GetGlobalStep(store)); step < run.Epochs*run.StepsPerEpoch() {
		return nil, fmt.Errorf("reading the model of %s: checkpoint %s is of step %d, and the run has %d: run the experiment again",
			folder, name, step, run.Epochs*run.StepsPerEpoch())
	}
	return store, nil
}

// InitialModel is the model of a run before training.
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

// TestImages are the first images that the run is tested on, up to count, preprocessed [N, H, W, C], and their labels.
func (l *Lab) TestImages(ctx context.Context, run experiments.Run, count int) (*tensors.Tensor, []uint8, error) {
	prepared, release, err := l.borrow(ctx, run)
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
func (l *Lab) Export(ctx context.Context, run experiments.Run, folder, file string) error {
	store, err := LoadModel(run, folder)
	if err != nil {
		return err
	}
	content := run.Network.Variables(store)
	images, classes, err := l.TestImages(ctx, run, exportedImages)
	if err != nil {
		return err
	}
	evaluator, err := newEvaluator(l.Backend, store, run.Network)
	if err != nil {
		return err
	}
	defer evaluator.exec.Finalize()
	prepared, release, err := l.borrow(ctx, run)
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
