package train

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/float16"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"
)

// writeArrays returns an .npz file of variables and, in the array called described, a description:
// JSON in bytes. The arrays are in the order of their names. (GoMLX's writer takes them in a random
// order.)
func writeArrays(
	variables map[string]*tensors.Tensor, described string, description any,
) ([]byte, error) {
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

// readDescription reads only the description of a file that writeArrays wrote. An error of it is
// never fs.ErrNotExist: the file is there.
func readDescription(file []byte, described string) (text []byte, err error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	array, err := archive.Open(described + ".npy")
	if err != nil {
		return nil, fmt.Errorf("it has no %s", described)
	}
	content, err := io.ReadAll(io.LimitReader(array, int64(len(file)))) // a part of the file
	_, text, _ = bytes.Cut(content, []byte("\n"))
	return text, err
}

// readArrays reads a file that writeArrays wrote into a store, which must have exactly its
// variables with their shapes, and returns the description. Values that are not finite are an
// error, and so is a file that has anything beside the arrays: what was read is written again, and
// must give the same bytes. It takes no more than three times the file's memory.
func readArrays(file []byte, store *model.Store, described string) (text []byte, err error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	missing := map[string]*model.Variable{described: nil}
	for v := range store.IterVariables() {
		missing[nameOf(v)] = v
	}
	read := map[string]*tensors.Tensor{}
	for _, entry := range archive.File {
		name := strings.TrimSuffix(entry.Name, ".npy")
		v, ok := missing[name]
		if !ok || entry.Method != zip.Store {
			return nil, fmt.Errorf("the run has no array like its %.100q", entry.Name)
		}
		delete(missing, name)
		array, err := entry.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(array) // a part of the file
		if err == nil && name == described {
			_, text, _ = bytes.Cut(content, []byte("\n"))
		} else if err == nil {
			read[name], err = readArray(content, v)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for name := range missing {
		return nil, fmt.Errorf("it has no %s", name)
	}
	again, err := writeArrays(read, described, json.RawMessage(text))
	if err != nil || !bytes.Equal(again, file) {
		return nil, errors.New("it has more than its arrays, or not as this program writes them")
	}
	return text, nil
}

// allFinite reports whether a tensor of floats has no NaN and no infinity. Other tensors have none.
func allFinite(value *tensors.Tensor) (all bool) {
	all = true
	switch value.DType() {
	case dtypes.Float32:
		tensors.MustConstFlatData(value, func(flat []float32) {
			infinite := func(x float32) bool { return !finite(float64(x)) }
			all = !slices.ContainsFunc(flat, infinite)
		})
	case dtypes.Float16:
		tensors.MustConstFlatData(value, func(flat []float16.Float16) {
			infinite := func(x float16.Float16) bool { return !finite(x.Float64()) }
			all = !slices.ContainsFunc(flat, infinite)
		})
	}
	return all
}

// readArray sets a variable to an array as GoMLX writes it, and returns its value. (GoMLX's reader
// takes any shape, for which it allocates, and panics at some.)
func readArray(content []byte, v *model.Variable) (*tensors.Tensor, error) {
	var expected bytes.Buffer
	size := int(v.Shape().ByteSize())
	if size > len(content) {
		return nil, fmt.Errorf("%d bytes are too few for %s", len(content), v.Shape())
	}
	value := tensors.FromShape(v.Shape())
	if err := numpy.ToNpyWriter(value, &expected); err != nil {
		return nil, err
	}
	header := expected.Bytes()[:expected.Len()-size]
	if len(content) != expected.Len() || !bytes.HasPrefix(content, header) {
		return nil, fmt.Errorf("its header is not that of %s", v.Shape())
	}
	if err := value.MutableBytes(func(data []byte) { copy(data, content[len(header):]) }); err != nil {
		return nil, err
	}
	if !allFinite(value) {
		return nil, errors.New("a value is not finite")
	}
	return value, v.SetValue(value)
}

// nameOf returns the name of a variable in files: its path without the root.
func nameOf(v *model.Variable) string { return strings.TrimPrefix(v.Path(), model.RootScopePath) }
