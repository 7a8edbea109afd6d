package train

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/float16"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// Networks is the folder of trained networks in a profile's results. Each finished run has one file there, <ID>.npz: the network's
// variables by name ("conv1/dictionary"), and the run's description, JSON in bytes ("run"). docs/scores.py reads it with NumPy alone.
const Networks = "networks"

// runName is the array of a network's file that holds the run's description.
const runName = "run"

// maxNetworkSize is the size in bytes of the largest file that is taken for a network or a checkpoint.
const maxNetworkSize = 1 << 30

// NetworkFile is the file of a run's trained network; folder is that of the profile's results.
func NetworkFile(folder, id string) string { return filepath.Join(folder, Networks, id+".npz") }

// EncodeNetwork returns the file of the trained network in a store, and its checksums. The same network always gives the same bytes.
func EncodeNetwork(run experiments.Run, store *model.Store) (file []byte, sums record.Network, err error) {
	variables := run.Network.Variables(store)
	if file, err = writeArrays(variables, runName, run); err != nil {
		return nil, sums, err
	}
	for name, value := range variables {
		if variables[name], err = converted(value, float16.FromFloat32); err != nil {
			return nil, sums, err
		}
	}
	half, err := writeArrays(variables, runName, run)
	return file, record.Network{SHA256: checksum(file), HalfSHA256: checksum(half)}, err
}

// converted is a tensor with each of its numbers converted.
func converted[From, To dtypes.Supported](value *tensors.Tensor, convert func(From) To) (*tensors.Tensor, error) {
	from, err := tensors.CopyFlatData[From](value)
	if err != nil {
		return nil, err
	}
	to := make([]To, len(from))
	for i, x := range from {
		to[i] = convert(x)
	}
	return tensors.FromFlatDataAndDimensions(to, value.Shape().Dimensions...), nil
}

// checksum is the SHA-256 of a file.
func checksum(file []byte) string { return fmt.Sprintf("%x", sha256.Sum256(file)) }

// writeArrays returns an .npz file with variables and a description, JSON in bytes, in the order of their names. (GoMLX's writer takes them in
// a random order.)
func writeArrays(variables map[string]*tensors.Tensor, described string, description any) ([]byte, error) {
	text, err := json.Marshal(description)
	if err != nil {
		return nil, err
	}
	arrays := maps.Clone(variables)
	arrays[described] = tensors.FromValue(text)
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err == nil {
			err = numpy.ToNpyWriter(arrays[name], entry)
		}
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
	}
	err = archive.Close()
	return file.Bytes(), err
}

// readArrays reads what writeArrays wrote.
func readArrays(file []byte, described string) (variables map[string]*tensors.Tensor, text []byte, err error) {
	// GoMLX's reader panics at some damaged headers.
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("it is no .npz file: %v", panicked)
		}
	}()
	if variables, err = numpy.FromNpzReader(bytes.NewReader(file), int64(len(file))); err != nil {
		return nil, nil, err
	}
	array, ok := variables[described]
	if !ok {
		return nil, nil, fmt.Errorf("it has no %s", described)
	}
	delete(variables, described)
	text, err = tensors.CopyFlatData[uint8](array)
	return variables, text, err
}

// LoadNetwork reads the trained network of a recorded run from its file: the store has its variables. The file must have one of the record's
// checksums, and exactly the variables of the run's network.
func LoadNetwork(r record.Record, folder string) (*model.Store, error) {
	path := NetworkFile(folder, r.ID)
	store, err := loadNetwork(r, path)
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the trained network of %s is not here (%s): train it with %s --results and another folder", r.ID, path, r.Command)
	case errors.As(err, &errno): // the network may well be good
		return nil, fmt.Errorf("reading network %s: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("network %s is not good (%w): remove it and the record, and run the experiment again", path, err)
	}
	return store, nil
}

func loadNetwork(r record.Record, path string) (*model.Store, error) {
	file, err := safefile.Read(path, maxNetworkSize)
	if err != nil {
		return nil, err
	}
	if sum := checksum(file); sum != r.Network.SHA256 && sum != r.Network.HalfSHA256 {
		return nil, errors.New("its SHA-256 is not the one in its record")
	}
	arrays, _, err := readArrays(file, runName)
	if err != nil {
		return nil, err
	}
	want, err := r.Run.Network.Shapes()
	if err != nil {
		return nil, err
	}
	if names := slices.Sorted(maps.Keys(arrays)); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		return nil, errors.New("its variables are not those of the run's network")
	}
	store := newStore(r.Run)
	for name, value := range arrays {
		shape := value.Shape()
		if !slices.Equal(shape.Dimensions, want[name]) || shape.DType != dtypes.Float32 && shape.DType != dtypes.Float16 {
			return nil, fmt.Errorf("%s is %s, and the run's has the dimensions %v", name, shape, want[name])
		}
		if shape.DType == dtypes.Float16 {
			if value, err = converted(value, float16.Float16.Float32); err != nil {
				return nil, err
			}
		}
		if _, err := store.CreateVariable(model.RootScopePath+name, value); err != nil {
			return nil, err
		}
	}
	return store, nil
}

// InitialNetwork returns the model of a run before training.
func InitialNetwork(backend compute.Backend, run experiments.Run) (*model.Store, error) {
	store := newStore(run)
	evaluator, err := newEvaluator(backend, store, run)
	if err != nil {
		return nil, err
	}
	defer evaluator.Finalize()
	n := run.Network
	_, _, err = score(evaluator, tensors.FromShape(shapes.Make(dtypes.Float32, 1, n.Height, n.Width, n.Channels)))
	return store, err
}

// nameOf is a variable's name in files, from its path.
func nameOf(path string) string { return strings.TrimPrefix(path, model.RootScopePath) }
