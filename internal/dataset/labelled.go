package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
)

// labelled are the images of one split as layouts other than the official one have them.
type labelled struct {
	place  string // where they were read, for messages
	labels []byte // the class of each image
	planes []byte // image after image, each a plane of values a channel
}

// records returns images as CIFAR-10's files have them.
func (l *labelled) records() []byte {
	records := make([]byte, 0, len(l.labels)*cifarRecord)
	for i, label := range l.labels {
		records = append(append(records, label), l.planes[i*cifarImage:][:cifarImage]...)
	}
	return records
}

// cifarOf returns the official files of CIFAR-10 for its training and its test images; none if
// there are none.
func cifarOf(parts []*labelled) (files []dataFile, err error) {
	for i, part := range parts {
		wanted := []int{len(cifarFiles) - 1, 1}[i] * cifarRecords
		if len(part.labels) != wanted {
			return nil, damaged(part.place, fmt.Errorf("%d %s images of CIFAR-10, not %d",
				len(part.labels), []string{"training", "test"}[i], wanted))
		}
		for records := range slices.Chunk(part.records(), cifarBytes) {
			files = append(files, dataFile{cifarFiles[len(files)], part.place, records})
		}
	}
	return files, nil
}

// mnistOf returns the official files of MNIST for its training and its test images, however many;
// none if there are none.
func mnistOf(parts []*labelled) (files []dataFile, err error) {
	for i, part := range parts {
		count := len(part.labels)
		images := encodeIDX([]int{count, mnistSide, mnistSide}, part.planes)
		labels := encodeIDX([]int{count}, part.labels)
		files = append(files, dataFile{mnistNames[2*i], part.place, images},
			dataFile{mnistNames[2*i+1], part.place, labels})
	}
	return files, nil
}

// pythonLimit is the size of the largest file of CIFAR-10's Python version. Python 3 writes bytes
// from 128 as two; and there is room for the names of images.
const pythonLimit = 2*cifarBytes + 4<<20

var (
	// pythonFiles are the pickles of the Python version, one for each file of the binary one.
	pythonFiles = []string{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4",
		"data_batch_5", "test_batch"}
	// pythonFolders are where the archive, and Keras, unpack them.
	pythonFolders = []string{"cifar-10-batches-py",
		filepath.Join("cifar-10-batches-py-target", "cifar-10-batches-py")}
	// pythonArchives are the names that the authors, torchvision and Keras give the archive.
	pythonArchives = []string{"cifar-10-python.tar.gz", "cifar-10-batches-py.tar.gz",
		"cifar-10-batches-py-target_archive"}
)

// readPython reads the pickles from a folder, from those below it, or from an archive, and makes
// the official files of them. It returns nil without an error if there are none.
func readPython(folder string) ([]dataFile, error) {
	below := append([]string{""}, pythonFolders...)
	files, err := readFirst(folder, below, pythonFiles, pythonLimit)
	for _, name := range pythonArchives {
		if files == nil && err == nil {
			files, err = readArchive(filepath.Join(folder, name), pythonFiles, pythonLimit)
		}
	}
	if err != nil {
		return nil, err
	}
	for i, pickled := range files {
		part, err := readBatch(pickled, cifarRecords)
		if err != nil {
			return nil, damaged(pickled.place, err)
		}
		files[i] = dataFile{cifarFiles[i], part.place, part.records()}
	}
	return files, nil
}

// readBatch reads a pickle of CIFAR-10's Python version, which must have so many images.
func readBatch(f dataFile, images int) (*labelled, error) {
	value, err := unpickle(f.bytes)
	if err != nil {
		return nil, err
	}
	batch, _ := value.(map[string]any)
	labels, ok := batch["labels"].(*[]any)
	if !ok || len(*labels) != images {
		return nil, fmt.Errorf("it has not the labels of %d images of CIFAR-10", images)
	}
	part := &labelled{place: f.place}
	for i, label := range *labels {
		class, ok := label.(int)
		if !ok || class < 0 || class > 255 {
			return nil, fmt.Errorf("image %d has no class", i)
		}
		part.labels = append(part.labels, byte(class))
	}
	part.planes, err = array(batch["data"], images, cifarImage)
	return part, err
}
