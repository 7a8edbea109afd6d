package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
)

const (
	mnistSide   = 28
	mnistImage  = mnistSide * mnistSide
	mnistFolder = "mnist"
	mnistLimit  = 16 + 60000*mnistImage // size of the largest file, unzipped

	// idxBytes plus the number of dimensions is the number at the start of an IDX file of unsigned bytes.
	idxBytes = 0x0800

	// mnistOfficial is the fingerprint of the official files.
	mnistOfficial = "d0a3eec1f5a454401d758fdbf15b9b0163a7034963586d671960c180b97e2c1a"
)

// mnistNames are the files in official order: training images and labels, test images and labels.
var mnistNames = []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}

var mnistClasses = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// errNoMNIST says that a folder has none of MNIST's files.
var errNoMNIST = errors.New("found no file of MNIST")

// readMNIST reads MNIST from a folder, see [Find]. The error is errNoMNIST if all its files are missing.
func readMNIST(folder string) (*Set, error) {
	files, err := readFiles(folder, mnistFolder, mnistNames, mnistLimit)
	if files == nil && err == nil {
		err = errNoMNIST
	}
	if err != nil {
		return nil, err
	}
	return newSet(files, 2, MNISTUnknownName, mnistClasses, decodeMNIST)
}

// decodeMNIST decodes two files: images and their labels.
func decodeMNIST(files []dataFile) (Images, error) {
	images, labels := files[0], files[1]
	pixels, count, err := decodeIDX(images, mnistSide, mnistSide)
	if err != nil {
		return Images{}, err
	}
	classes, labelCount, err := decodeIDX(labels)
	switch {
	case err != nil:
		return Images{}, err
	case count == 0:
		return Images{}, damaged(images.place, "0 images")
	case labelCount != count:
		return Images{}, damaged(labels.place, "%d labels for the %d images of %s", labelCount, count, images.place)
	}
	for i, class := range classes {
		if class >= numClasses {
			return Images{}, damaged(labels.place, "label %d is %d, and there are only %d classes", i, class, numClasses)
		}
	}
	return Images{Height: mnistSide, Width: mnistSide, Channels: 1, Pixels: pixels, Labels: classes}, nil
}

// decodeIDX decodes an IDX file of bytes, a list of items of dimensions dims: a number for the type and how many dimensions
// there are, the number of items, dims, and the values.
func decodeIDX(f dataFile, dims ...int) (values []byte, count int, err error) {
	size := 1
	for _, dim := range dims {
		size *= dim
	}
	count = (len(f.bytes) - 4*(2+len(dims))) / size
	header := encodeIDX(append([]int{count}, dims...))
	values, ok := bytes.CutPrefix(f.bytes, header)
	if !ok || len(values) != count*size {
		return nil, 0, damaged(f.place, "%d bytes, which are not an IDX file of items of dimensions %d", len(f.bytes), dims)
	}
	return values, count, nil
}

// encodeIDX is the inverse of decodeIDX, for values in several parts.
func encodeIDX(dims []int, values ...[]byte) []byte {
	file := binary.BigEndian.AppendUint32(nil, uint32(idxBytes+len(dims)))
	for _, dim := range dims {
		file = binary.BigEndian.AppendUint32(file, uint32(dim))
	}
	return append(file, bytes.Join(values, nil)...)
}
