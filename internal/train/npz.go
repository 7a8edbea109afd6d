package train

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"
)

// writeArrays returns an .npz file with variables and a description, JSON in bytes, in the order of
// their names. (GoMLX's writer takes them in a random order.)
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

// readArrays reads a file of writeArrays into a store, which must have exactly its variables with their shapes; any other file is an error. It takes
// no more memory than they do. It returns the description.
func readArrays(file []byte, store *model.Store, described string) (text []byte, err error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	missing := map[string]*model.Variable{described: nil}
	for v := range store.IterVariables() {
		missing[nameOf(v)] = v
	}
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
			err = readArray(content, v)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for name := range missing {
		return nil, fmt.Errorf("it has no %s", name)
	}
	return text, nil
}

// readArray sets a variable to an array as GoMLX writes it. (GoMLX's reader takes any shape, for which it allocates, and panics at some.)
func readArray(content []byte, v *model.Variable) error {
	var expected bytes.Buffer
	size := int(v.Shape().ByteSize())
	if size > len(content) {
		return fmt.Errorf("%d bytes are too few for %s", len(content), v.Shape())
	}
	value := tensors.FromShape(v.Shape())
	if err := numpy.ToNpyWriter(value, &expected); err != nil {
		return err
	}
	header := expected.Bytes()[:expected.Len()-size]
	if len(content) != expected.Len() || !bytes.HasPrefix(content, header) {
		return fmt.Errorf("its header is not that of %s", v.Shape())
	}
	if err := value.MutableBytes(func(data []byte) { copy(data, content[len(header):]) }); err != nil {
		return err
	}
	return v.SetValue(value)
}

func nameOf(v *model.Variable) string { return strings.TrimPrefix(v.Path(), model.RootScopePath) }
