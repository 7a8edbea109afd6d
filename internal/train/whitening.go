package train

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/float16"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// whitened says what a whitening was fitted on. Runs that agree in it share one.
type whitened struct {
	// SHA256 is the fingerprint of the data set, of which the first TrainImages were taken.
	SHA256      string
	TrainImages int
	// Epsilon is ZCA's ε.
	Epsilon float64
}

// whitenedOn returns what a run's whitening is fitted on.
func whitenedOn(run experiments.Run) whitened {
	return whitened{run.Dataset.SHA256, run.TrainImages, run.Hyper.ZCAEpsilon}
}

// whiteningFile returns the path of a run's whitening, beside the networks in the folder of a
// profile's results.
func whiteningFile(results string, run experiments.Run) string {
	text, _ := json.Marshal(whitenedOn(run)) // three plain fields
	name := fmt.Sprintf("whitening-%.12x.npz", sha256.Sum256(text))
	return filepath.Join(results, record.NetworksFolder, name)
}

// carriedHead describes a whitening's file: what it was fitted on, and how many directions it
// keeps.
type carriedHead struct {
	whitened
	Directions int
}

// whiteningName is the array of a whitening's file that holds the description.
const whiteningName = "whitening"

// SaveWhitening writes the whitening of a run beside its network in the folder of a profile's
// results, so that the network sees pictures as it was trained to, without the training images. It
// writes nothing for a run that is not whitened, and keeps a file that is there: all runs on the
// same images share it.
//
// The file is an .npz: "mean" [D], "factor" [K, D] in half precision and "variances" [K], from
// which [dataset.Carried] makes the whitening.
func (r *Runner) SaveWhitening(ctx context.Context, results string, run experiments.Run) error {
	path := whiteningFile(results, run)
	if _, err := os.Stat(path); err == nil || run.Hyper.Preprocessing != experiments.ZCA {
		return nil
	}
	whitening, err := r.Whitening(ctx, run)
	if err != nil {
		return err
	}
	carried := whitening.Carried
	d, k := len(carried.Mean), len(carried.Variances)
	factor := tensors.FromFlatDataAndDimensions(carried.Factor, k, d)
	file, err := writeArrays(map[string]*tensors.Tensor{
		"mean":      tensors.FromFlatDataAndDimensions(carried.Mean, d),
		"factor":    converted(factor, halved),
		"variances": tensors.FromFlatDataAndDimensions(carried.Variances, k),
	}, whiteningName, carriedHead{whitenedOn(run), k})
	if err != nil {
		return err
	}
	return safefile.Write(path, file)
}

// LoadWhitening reads the whitening of a run from the folder of its results, or of another
// profile's beside it, whose runs may share it. It returns nil for a run that is not whitened. The
// error is fs.ErrNotExist where no folder has it.
func LoadWhitening(
	backend compute.Backend, results string, run experiments.Run,
) (*dataset.Whitening, error) {
	if run.Hyper.Preprocessing != experiments.ZCA {
		return nil, nil
	}
	path := whiteningFile(results, run)
	if _, err := os.Stat(path); err != nil {
		beside := "*/" + record.NetworksFolder + "/" + filepath.Base(path)
		others, err := fs.Glob(os.DirFS(filepath.Dir(results)), beside)
		if err == nil && len(others) > 0 {
			path = filepath.Join(filepath.Dir(results), others[0])
		}
	}
	file, err := safefile.Read(path, maxNetworkSize)
	if err != nil {
		return nil, err
	}
	carried, err := decodeWhitening(file, run)
	if err != nil {
		return nil, fmt.Errorf("%s is not good (%w): restore it from git, or remove it", path, err)
	}
	return carried.Whitening(backend)
}

// decodeWhitening decodes and checks the whitening of a run.
func decodeWhitening(file []byte, run experiments.Run) (carried dataset.Carried, err error) {
	text, err := readDescription(file, whiteningName) // which says how large the arrays are
	if err != nil {
		return carried, err
	}
	var head carriedHead
	d := run.Network.Height * run.Network.Width * run.Network.Channels
	switch err := json.Unmarshal(text, &head); {
	case err != nil:
		return carried, err
	case head.whitened != whitenedOn(run):
		return carried, errors.New("it was fitted on other images, or with another ε")
	case head.Directions < 1 || head.Directions > d:
		return carried, fmt.Errorf("%d directions of %d", head.Directions, d)
	}
	store, k := model.NewStore(), head.Directions
	mean := store.VariableWithShape("mean", shapes.Make(dtypes.Float32, d), nil)
	factor := store.VariableWithShape("factor", shapes.Make(dtypes.Float16, k, d), nil)
	variances := store.VariableWithShape("variances", shapes.Make(dtypes.Float32, k), nil)
	if _, err := readArrays(file, store, whiteningName); err != nil {
		return carried, err
	}
	factors := converted(factor.MustValue(), float16.Float16.Float32)
	carried = dataset.Carried{
		Mean:      tensors.MustCopyFlatData[float32](mean.MustValue()),
		Factor:    tensors.MustCopyFlatData[float32](factors),
		Variances: tensors.MustCopyFlatData[float32](variances.MustValue()),
		Epsilon:   head.Epsilon,
	}
	for i, variance := range carried.Variances {
		if variance < 0 || i > 0 && variance > carried.Variances[i-1] {
			return carried, errors.New("its variances do not fall")
		}
	}
	return carried, nil
}
