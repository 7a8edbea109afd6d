package dataset

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
)

// The layout of CIFAR-10's binary version: files of 10,000 records, each a label and the three
// colour planes of an image.
const (
	cifarSide    = 32
	cifarPlane   = cifarSide * cifarSide
	cifarImage   = 3 * cifarPlane
	cifarRecord  = 1 + cifarImage
	cifarRecords = 10000
	cifarBytes   = cifarRecords * cifarRecord

	cifarFolder  = "cifar-10-batches-bin"
	cifarArchive = "cifar-10-binary.tar.gz"
)

// cifarRemote is the official archive, with its published SHA-256.
var cifarRemote = remote{
	url:    "https://www.cs.toronto.edu/~kriz/" + cifarArchive,
	size:   170052171,
	sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
}

// cifarFiles are the data files in their official order, the test images last.
var cifarFiles = []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
	"data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}

// fetchCIFAR10 downloads the official archive.
func fetchCIFAR10(ctx context.Context, part string, log io.Writer) ([]dataFile, error) {
	content, err := cifarRemote.download(ctx, part, log)
	return []dataFile{{name: cifarArchive, bytes: content}}, err
}

// cifarLayouts are the layouts of CIFAR-10.
var cifarLayouts = []layout{
	{cifarFolder + "/", func(folder string) ([]dataFile, error) {
		return readFirst(folder, []string{"", cifarFolder}, cifarFiles, cifarBytes)
	}},
	{cifarArchive, func(folder string) ([]dataFile, error) {
		return readArchive(filepath.Join(folder, cifarArchive), cifarFiles, cifarBytes)
	}},
	{pythonFolders[0] + "/ or " + pythonArchives[0], readPython},
	parquetLayout("uoft-cs/cifar10", cifarSide, 3, cifarOf),
}

// readArchive reads files of up to most bytes each from a tar, gzipped or not. It returns nil
// without an error if the archive is missing.
func readArchive(archive string, names []string, most int64) ([]dataFile, error) {
	if missing(archive) {
		return nil, nil
	}
	const beside = 1 << 20 // room for tar's blocks and the notes beside the files
	unzipped, err := readUnzipped(archive, int64(len(names))*most+beside)
	if err != nil {
		return nil, damaged(archive, err)
	}
	return unpack(unzipped, archive, names, most)
}

// unpack reads the named files from a tar in memory, and skips its other entries; place names the
// archive in errors. A hostile archive can do no harm: nothing is written, so no name in it becomes
// a path, and no file in it, which may be sparse, is read beyond most bytes.
func unpack(unzipped []byte, place string, names []string, most int64) ([]dataFile, error) {
	archive, content := tar.NewReader(bytes.NewReader(unzipped)), map[string][]byte{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			err = fmt.Errorf("not a tar file: %w", err)
		} else if slices.Contains(names, path.Base(header.Name)) {
			content[path.Base(header.Name)], err = io.ReadAll(io.LimitReader(archive, most+1))
		}
		if err != nil {
			return nil, damaged(place, err)
		}
	}
	var files []dataFile
	for _, name := range names {
		files = append(files, dataFile{name, place + ":" + name, content[name]})
	}
	return files, nil
}

// decodeCIFAR10 decodes files, each of which must hold all its records.
func decodeCIFAR10(files []dataFile) (Images, error) {
	images := Images{Height: cifarSide, Width: cifarSide, Channels: 3}
	images.Pixels = make([]uint8, 0, len(files)*cifarRecords*cifarImage)
	for _, f := range files {
		if len(f.bytes) != cifarBytes {
			return Images{}, damaged(f.place, fmt.Errorf("%d bytes, not %d", len(f.bytes), cifarBytes))
		}
		for record := range slices.Chunk(f.bytes, cifarRecord) {
			images.Labels = append(images.Labels, uint16(record[0]))
			red := record[1:]
			green, blue := red[cifarPlane:], red[2*cifarPlane:]
			for at := range cifarPlane {
				images.Pixels = append(images.Pixels, red[at], green[at], blue[at])
			}
		}
	}
	return images, nil
}
