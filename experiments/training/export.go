package training

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/checkpoint"
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
		return run, "", fmt.Errorf("run %q is not finished: run its experiment again, it goes on from its last epoch", id)
	}
	return result.Run, folder, nil
}

// LoadModel reads the trained model of a run from its folder.
func LoadModel(run experiments.Run, folder string) (*model.Store, error) {
	checkpoints := filepath.Join(folder, checkpointFolder)
	if _, err := os.Stat(checkpoints); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no checkpoint: remove the folder and run the experiment again", folder)
	}
	store := newStore(run)
	_, err := checkpoint.Load(store).Dir(checkpoints).ExcludeAllParams().Immediate().Done()
	if err != nil {
		return nil, fmt.Errorf("reading the model of %s: %w", folder, err)
	}
	return store, nil
}

// Export writes a trained model to an .npz file: its variables by name ("conv1/dictionary"), the first 64 preprocessed
// test images ("images" [64, H, W, C]), their labels ("labels" [64]) and the model's class scores ("logits" [64, Y]).
func (l *Lab) Export(ctx context.Context, run experiments.Run, folder, file string) error {
	store, err := LoadModel(run, folder)
	if err != nil {
		return err
	}
	prepared, err := l.prepare(ctx, run)
	if err != nil {
		return err
	}
	content := run.Network.Variables(store)
	count := min(exportedImages, prepared.test.NumExamples())
	var images []float32
	var dims []int
	for batch, err := range prepared.test.Copy().BatchSize(count, true).TakeN(1).Iter() {
		if err != nil {
			return fmt.Errorf("reading images: %w", err)
		}
		images = tensors.MustCopyFlatData[float32](batch.Inputs[0])
		dims = batch.Inputs[0].Shape().Dimensions
	}
	evaluator, err := newEvaluator(l.Backend, store, run.Network)
	if err != nil {
		return err
	}
	defer evaluator.exec.Finalize()
	scores, _, err := evaluator.scores(ctx, prepared.test, count)
	if err != nil {
		return err
	}
	labels := make([]int32, dims[0])
	for i := range labels {
		labels[i] = int32(prepared.testLabels[i])
	}
	content["images"] = tensors.FromFlatDataAndDimensions(images, dims...)
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
