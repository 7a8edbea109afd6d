package train

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
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
	if file, err = encode(run, variables); err != nil {
		return nil, sums, err
	}
	for name, value := range variables {
		if variables[name], err = halved(value); err != nil {
			return nil, sums, err
		}
	}
	half, err := encode(run, variables)
	return file, record.Network{SHA256: checksum(file), HalfSHA256: checksum(half)}, err
}

// encode returns a network's file.
func encode(run experiments.Run, variables map[string]*tensors.Tensor) ([]byte, error) {
	text, err := json.Marshal(run)
	if err != nil {
		return nil, fmt.Errorf("writing a network: %w", err)
	}
	arrays := maps.Clone(variables)
	arrays[runName] = tensors.FromValue(text)
	return writeArrays(arrays)
}

// halved is a tensor of float32 in half precision.
func halved(value *tensors.Tensor) (*tensors.Tensor, error) {
	flat, err := tensors.CopyFlatData[float32](value)
	if err != nil {
		return nil, err
	}
	half := make([]float16.Float16, len(flat))
	for i, x := range flat {
		half[i] = float16.FromFloat32(x)
	}
	return tensors.FromFlatDataAndDimensions(half, value.Shape().Dimensions...), nil
}

// checksum is the SHA-256 of a file.
func checksum(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// writeArrays returns an .npz file with the arrays in the order of their names. (GoMLX's writer takes them in a random order.)
func writeArrays(arrays map[string]*tensors.Tensor) ([]byte, error) {
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
	err := archive.Close()
	return file.Bytes(), err
}

// readArrays reads the arrays of an .npz file.
func readArrays(file []byte) (arrays map[string]*tensors.Tensor, err error) {
	// GoMLX's reader panics at some damaged headers.
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("it is no .npz file: %v", panicked)
		}
	}()
	return numpy.FromNpzReader(bytes.NewReader(file), int64(len(file)))
}

// takeText takes a text, stored as bytes, out of arrays.
func takeText(arrays map[string]*tensors.Tensor, name string) ([]byte, error) {
	array, ok := arrays[name]
	if !ok {
		return nil, fmt.Errorf("it has no %s", name)
	}
	delete(arrays, name)
	return tensors.CopyFlatData[uint8](array)
}

// readRegular reads a file, unless it is a pipe, a device or larger than a network.
func readRegular(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not block
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxNetworkSize {
		return nil, errors.New("it is no regular file of a network's size")
	}
	return io.ReadAll(io.LimitReader(file, maxNetworkSize))
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
	file, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	if sum := checksum(file); sum != r.Network.SHA256 && sum != r.Network.HalfSHA256 {
		return nil, errors.New("its SHA-256 is not the one in its record")
	}
	arrays, err := readArrays(file)
	if err != nil {
		return nil, err
	}
	if _, err := takeText(arrays, runName); err != nil {
		return nil, err
	}
	return storeOf(r.Run, arrays)
}

// storeOf is a model with a network's variables, which are exactly those of the run's network.
func storeOf(run experiments.Run, arrays map[string]*tensors.Tensor) (*model.Store, error) {
	if err := checkVariables(run, arrays); err != nil {
		return nil, err
	}
	store := newStore(run)
	for name, value := range arrays {
		if value.DType() == dtypes.Float16 {
			half, err := tensors.CopyFlatData[float16.Float16](value)
			if err != nil {
				return nil, err
			}
			flat := make([]float32, len(half))
			for i, x := range half {
				flat[i] = x.Float32()
			}
			value = tensors.FromFlatDataAndDimensions(flat, value.Shape().Dimensions...)
		}
		if _, err := store.CreateVariable(model.RootScopePath+name, value); err != nil {
			return nil, err
		}
	}
	return store, nil
}

// checkVariables returns an error if arrays are not the variables of the run's network, by names, shapes and types.
func checkVariables(run experiments.Run, arrays map[string]*tensors.Tensor) error {
	want, err := run.Network.Shapes()
	if err != nil {
		return err
	}
	for name := range arrays {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("the run's network has no variable %.60q", name)
		}
	}
	for name, dims := range want {
		value, ok := arrays[name]
		if !ok {
			return fmt.Errorf("it has no variable %s", name)
		}
		shape := value.Shape()
		if !slices.Equal(shape.Dimensions, dims) || shape.DType != dtypes.Float32 && shape.DType != dtypes.Float16 {
			return fmt.Errorf("%s is %s, and the run's has the dimensions %v", name, shape, dims)
		}
	}
	return nil
}

// InitialNetwork returns the model of a run before training.
func InitialNetwork(backend compute.Backend, run experiments.Run) (*model.Store, error) {
	store := newStore(run)
	evaluator, err := newEvaluator(backend, store, run)
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

// nameOf is a variable's name in files, from its path.
func nameOf(path string) string { return strings.TrimPrefix(path, model.RootScopePath) }
