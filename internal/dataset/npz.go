package dataset

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"

	"ebsscgo/internal/safefile"
)

// npzFile is MNIST as Keras has it: a zip of four arrays of NumPy.
const npzFile = "mnist.npz"

// readNPZ reads the splits from Keras's file in a folder. It returns nil without an error if that
// is missing.
func readNPZ(folder string) (train, test *labelled, err error) {
	place := filepath.Join(folder, npzFile)
	file, err := safefile.Open(place)
	if missing(place, err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, damaged(place, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, damaged(place, err)
	}
	if train, test, err = unpackNPZ(file, info.Size(), place); err != nil {
		return nil, nil, damaged(place, err)
	}
	return train, test, nil
}

// unpackNPZ reads the splits from a file of that size.
func unpackNPZ(content io.ReaderAt, size int64, place string) (train, test *labelled, err error) {
	arrays, err := zip.NewReader(content, size)
	if err != nil {
		return nil, nil, fmt.Errorf("not a file of NumPy's arrays: %w", err)
	}
	parts := []*labelled{{place: place}, {place: place}}
	for i, name := range []string{"train", "test"} {
		pixels, count, err := readNPY(arrays, "x_"+name+".npy", mnistImage)
		if err != nil {
			return nil, nil, err
		}
		labels, classes, err := readNPY(arrays, "y_"+name+".npy", 1)
		if err != nil {
			return nil, nil, err
		}
		if count != classes {
			return nil, nil, fmt.Errorf("%d images and %d labels for %s", count, classes, name)
		}
		parts[i].planes, parts[i].labels = pixels, labels
	}
	return parts[0], parts[1], nil
}

// npyHeader is how NumPy describes an array [N, 28, 28] or [N] of bytes, row by row.
var npyHeader = regexp.MustCompile(
	`^\{'descr': '\|u1', 'fortran_order': False, 'shape': \((\d{1,6}),( 28, 28)?\), \} *\n`,
)

// npyText is where the description begins: behind the format's name, its version, and the text's
// length.
const npyName, npyText = "\x93NUMPY\x01\x00", 10

// readNPY reads an array from a zip, and returns how many images it has values of. A library
// (npyio) panics on what is no header.
func readNPY(arrays *zip.Reader, name string, size int) (values []byte, count int, err error) {
	file, err := arrays.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("it has no array %s", name)
		}
		return nil, 0, err
	}
	defer file.Close()
	const longest = 1 << 10 // header
	content, err := io.ReadAll(io.LimitReader(file, mnistLimit+longest))
	if err != nil {
		return nil, 0, fmt.Errorf("truncated or damaged: %s: %w", name, err)
	}
	var header [][]byte
	if bytes.HasPrefix(content, []byte(npyName)) && len(content) > npyText {
		content = content[npyText:]
		header = npyHeader.FindSubmatch(content)
	}
	if header == nil || (len(header[2]) > 0) != (size > 1) {
		return nil, 0, fmt.Errorf("%s is not an array of bytes of MNIST's shape", name)
	}
	if count, err = strconv.Atoi(string(header[1])); err != nil {
		return nil, 0, err
	}
	values = content[len(header[0]):]
	if count < 1 || len(values) != count*size {
		return nil, 0, fmt.Errorf(
			"%s has %d bytes where its shape asks for %d",
			name,
			len(values),
			count*size,
		)
	}
	return values, count, nil
}
