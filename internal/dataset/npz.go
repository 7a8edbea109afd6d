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

// readNPZ makes the official files of Keras's file in a folder. It returns nil without an error if
// that is missing.
func readNPZ(folder string) ([]dataFile, error) {
	place := filepath.Join(folder, npzFile)
	if missing(place) {
		return nil, nil
	}
	content, err := safefile.Read(place, 2*mnistLimit)
	var parts []*labelled
	if err == nil {
		parts, err = unpackNPZ(content, place)
	}
	if err != nil {
		return nil, damaged(place, err)
	}
	return mnistOf(parts)
}

// unpackNPZ returns the training and the test images of a file.
func unpackNPZ(content []byte, place string) (parts []*labelled, err error) {
	arrays, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("not a file of NumPy's arrays: %w", err)
	}
	for _, split := range splits {
		pixels, err := readNPY(arrays, "x_"+split+".npy", mnistImage)
		if err != nil {
			return nil, err
		}
		labels, err := readNPY(arrays, "y_"+split+".npy", 1)
		if err != nil {
			return nil, err
		}
		if count := len(pixels) / mnistImage; count != len(labels) {
			return nil, fmt.Errorf("%d images and %d labels for %s", count, len(labels), split)
		}
		parts = append(parts, &labelled{place, labels, pixels})
	}
	return parts, nil
}

// npyHeader is how NumPy describes an array [N, 28, 28] or [N] of bytes, row by row.
var npyHeader = regexp.MustCompile(
	`^\{'descr': '\|u1', 'fortran_order': False, 'shape': \((\d{1,6}),( 28, 28)?\), \} *\n`,
)

// npyText is where the description begins: behind the format's name, its version, and the text's
// length.
const npyName, npyText = "\x93NUMPY\x01\x00", 10

// readNPY reads an array of images or labels of size bytes each from a zip. The library for this
// (npyio) panics on what is no header.
func readNPY(arrays *zip.Reader, name string, size int) ([]byte, error) {
	file, err := arrays.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it has no array %s", name)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const longest = 1 << 10 // header
	content, err := io.ReadAll(io.LimitReader(file, mnistLimit+longest))
	if err != nil {
		return nil, fmt.Errorf("truncated or damaged: %s: %w", name, err)
	}
	var header [][]byte
	if bytes.HasPrefix(content, []byte(npyName)) && len(content) > npyText {
		content = content[npyText:]
		header = npyHeader.FindSubmatch(content)
	}
	if header == nil || (len(header[2]) > 0) != (size > 1) {
		line, _, _ := bytes.Cut(content[:min(longest, len(content))], []byte("\n"))
		shape := "-1"
		if size > 1 {
			shape = "-1, 28, 28"
		}
		return nil, advice(fmt.Sprintf("%s is not an array of bytes of MNIST's shape, row by row: "+
			"%.80q; write it as np.ascontiguousarray(x, np.uint8).reshape(%s)", name,
			bytes.TrimSpace(line), shape))
	}
	count, _ := strconv.Atoi(string(header[1])) // six digits at most
	values := content[len(header[0]):]
	if count < 1 || len(values) != count*size {
		return nil, fmt.Errorf("%s has %d bytes where its shape asks for %d", name, len(values),
			count*size)
	}
	return values, nil
}
