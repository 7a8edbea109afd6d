package train

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

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

// readArrays reads a file of writeArrays whose variables have exactly these names and shapes; any other is an error. It takes no more memory than they do.
func readArrays(file []byte, want map[string]shapes.Shape, described string) (variables map[string]*tensors.Tensor, text []byte, err error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, err
	}
	if len(archive.File) != len(want)+1 {
		return nil, nil, fmt.Errorf("it has %d arrays, and the run has %d", len(archive.File), len(want)+1)
	}
	variables = map[string]*tensors.Tensor{}
	for _, entry := range archive.File {
		name := strings.TrimSuffix(entry.Name, ".npy")
		shape, ok := want[name]
		if !ok && name != described || entry.Method != zip.Store {
			return nil, nil, fmt.Errorf("it has an array %.100q, which the run has not", entry.Name)
		}
		array, err := entry.Open()
		if err != nil {
			return nil, nil, err
		}
		content, err := io.ReadAll(array) // a part of the file
		if err != nil {
			return nil, nil, err
		}
		if name == described {
			_, text, _ = bytes.Cut(content, []byte("\n"))
			continue
		}
		if variables[name], err = readArray(content, shape); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(variables) < len(want) || text == nil {
		return nil, nil, errors.New("it has an array twice")
	}
	return variables, text, nil
}

// readArray reads an array as GoMLX writes it. (GoMLX's reader takes any shape, for which it allocates, and panics at some.)
func readArray(content []byte, shape shapes.Shape) (*tensors.Tensor, error) {
	var expected bytes.Buffer
	if shape.ByteSize() > int64(len(content)) {
		return nil, fmt.Errorf("%d bytes are too few for %s", len(content), shape)
	}
	value := tensors.FromShape(shape)
	if err := numpy.ToNpyWriter(value, &expected); err != nil {
		return nil, err
	}
	header := expected.Bytes()[:expected.Len()-int(shape.ByteSize())]
	if len(content) != expected.Len() || !bytes.HasPrefix(content, header) {
		return nil, fmt.Errorf("its header is not that of %s", shape)
	}
	return value, value.MutableBytes(func(data []byte) { copy(data, content[len(header):]) })
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
	dtype := dtypes.Float32
	switch checksum(file) {
	case r.Network.SHA256:
	case r.Network.HalfSHA256:
		dtype = dtypes.Float16
	default:
		return nil, errors.New("its SHA-256 is not the one in its record")
	}
	all, err := r.Run.Network.Shapes()
	if err != nil {
		return nil, err
	}
	want := map[string]shapes.Shape{}
	for name, dimensions := range all {
		want[name] = shapes.Make(dtype, dimensions...)
	}
	variables, _, err := readArrays(file, want, runName)
	if err != nil {
		return nil, err
	}
	store := newStore(r.Run)
	for name, value := range variables {
		if dtype == dtypes.Float16 {
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

// nameOf is a variable's name in files.
func nameOf(v *model.Variable) string { return strings.TrimPrefix(v.Path(), model.RootScopePath) }
