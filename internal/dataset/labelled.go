package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
)

// labelled are images of one split as layouts other than the official one have them.
type labelled struct {
	place  string // where they were read, for messages
	labels []byte // the class of each image
	planes []byte // image after image, each a plane of values a channel
}

// readParts reads the two splits of a folder and makes official files of them. It returns nil
// without an error if there are none.
func readParts(folder string, read func(folder string) (train, test *labelled, err error),
	official func(train, test *labelled) ([]dataFile, error)) ([]dataFile, error) {
	train, test, err := read(folder)
	if train == nil || err != nil {
		return nil, err
	}
	return official(train, test)
}

// cifarRecordsOf returns an official file of CIFAR-10 with images, of which there must be as many
// as it has records.
func (l *labelled) cifarRecordsOf(name string) (dataFile, error) {
	if len(l.labels) != cifarRecords || len(l.planes) != cifarRecords*cifarImage {
		return dataFile{}, damaged(
			l.place,
			fmt.Errorf("%d images of CIFAR-10, not %d", len(l.labels), cifarRecords),
		)
	}
	records := make([]byte, 0, cifarBytes)
	for i, label := range l.labels {
		records = append(append(records, label), l.planes[i*cifarImage:][:cifarImage]...)
	}
	return dataFile{name, l.place, records}, nil
}

// cifarOf returns the official files of CIFAR-10 for its two splits.
func cifarOf(train, test *labelled) (files []dataFile, err error) {
	batches := len(cifarFiles) - 1
	if len(train.labels) != batches*cifarRecords {
		return nil, damaged(
			train.place,
			fmt.Errorf(
				"%d training images of CIFAR-10, not %d",
				len(train.labels),
				batches*cifarRecords,
			),
		)
	}
	parts := []*labelled{}
	for at := range slices.Chunk(train.labels, cifarRecords) {
		parts = append(
			parts,
			&labelled{
				train.place,
				at,
				train.planes[len(parts)*cifarRecords*cifarImage:][:cifarRecords*cifarImage],
			},
		)
	}
	for i, part := range append(parts, test) {
		file, err := part.cifarRecordsOf(cifarFiles[i])
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// mnistOf returns the official files of MNIST for its two splits, of any size.
func mnistOf(train, test *labelled) (files []dataFile, err error) {
	for i, part := range []*labelled{train, test} {
		files = append(
			files,
			dataFile{
				mnistNames[2*i],
				part.place,
				encodeIDX([]int{len(part.labels), mnistSide, mnistSide}, part.planes),
			},
			dataFile{
				mnistNames[2*i+1],
				part.place,
				encodeIDX([]int{len(part.labels)}, part.labels),
			},
		)
	}
	return files, nil
}

// The layout of CIFAR-10's Python version: a pickle for each file of the binary one.
const (
	pythonArchive = "cifar-10-python.tar.gz"
	// Python 3 writes bytes from 128 as two; and there is room for the names of images.
	pythonLimit = 2*cifarBytes + 4<<20
)

var (
	pythonFiles = []string{
		"data_batch_1",
		"data_batch_2",
		"data_batch_3",
		"data_batch_4",
		"data_batch_5",
		"test_batch",
	}
	// pythonFolders are where the archive, and Keras, unpack them.
	pythonFolders = []string{
		"cifar-10-batches-py",
		filepath.Join("cifar-10-batches-py-target", "cifar-10-batches-py"),
	}
	// pythonArchives are the names that the authors, torchvision and Keras give the archive.
	pythonArchives = []string{
		pythonArchive,
		"cifar-10-batches-py.tar.gz",
		"cifar-10-batches-py-target_archive",
	}
)

// readPython reads the pickles from a folder, from those below it, or from an archive.
func readPython(folder string) ([]dataFile, error) {
	folders := []string{folder}
	for _, below := range pythonFolders {
		folders = append(folders, filepath.Join(folder, below))
	}
	pickles, err := readFirst(folders, pythonFiles, pythonLimit)
	for i := 0; i < len(pythonArchives) && pickles == nil && err == nil; i++ {
		pickles, err = readArchive(
			filepath.Join(folder, pythonArchives[i]),
			pythonFiles,
			pythonLimit,
		)
	}
	if pickles == nil || err != nil {
		return nil, err
	}
	for i, pickled := range pickles {
		part, err := readBatch(pickled, cifarRecords)
		if err != nil {
			return nil, damaged(pickled.place, err)
		}
		if pickles[i], err = part.cifarRecordsOf(cifarFiles[i]); err != nil {
			return nil, err
		}
	}
	return pickles, nil
}

// readBatch reads a pickle of CIFAR-10's Python version with so many images.
func readBatch(f dataFile, images int) (*labelled, error) {
	value, err := unpickle(f.bytes)
	if err != nil {
		return nil, err
	}
	batch, _ := value.(map[string]any)
	list, ok := batch["labels"].(*[]any)
	if !ok || len(*list) != images {
		return nil, fmt.Errorf("it has not the labels of %d images of CIFAR-10", images)
	}
	part := &labelled{place: f.place}
	for _, label := range *list {
		class, ok := label.(int)
		if !ok || class < 0 || class > 255 {
			return nil, fmt.Errorf("image %d has no class", len(part.labels))
		}
		part.labels = append(part.labels, byte(class))
	}
	part.planes, err = array(batch["data"], images, cifarImage)
	return part, err
}
