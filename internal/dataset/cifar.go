package dataset

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// The layout of CIFAR-10's binary version: files of 10,000 records, each a label and the three colour planes of an image.
const (
	cifarSide    = 32
	cifarPlane   = cifarSide * cifarSide
	cifarImage   = 3 * cifarPlane
	cifarRecord  = 1 + cifarImage
	cifarRecords = 10000
	cifarBytes   = cifarRecords * cifarRecord

	cifarFolder  = "cifar-10-batches-bin"
	cifarArchive = "cifar-10-binary.tar.gz"
	// maxUnpacked bounds what an archive unpacks to: the six files, and room for tar's blocks and the notes beside them.
	maxUnpacked = 6*cifarBytes + 1<<20

	// cifarOfficial is the fingerprint of the official files.
	cifarOfficial = "5fdcf57d170bdbc7da569af1dabd64d7d3c7507e9e7aa861fc7b691d5355c232"
	// cifarJPEG is the fingerprint of the JPEG copy, decoded by Go's image/jpeg.
	cifarJPEG = "68374e1a504b4c1c7a5e90412bfd519a99352c878849adff125f93aadcb62a2f"
)

// cifarRemote is the official archive, with its published SHA-256.
var cifarRemote = remote{
	url:    "https://www.cs.toronto.edu/~kriz/" + cifarArchive,
	size:   170052171,
	sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
}

// cifarFiles are the data files in their official order, the test images last.
var cifarFiles = []string{
	"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin",
}

var cifarClasses = []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}

func fetchCIFAR10(ctx context.Context, log io.Writer) ([]dataFile, error) {
	archive, err := cifarRemote.download(ctx, log)
	if err != nil {
		return nil, err
	}
	return unpackCIFAR10(archive, cifarRemote.url)
}

// readCIFAR10 reads CIFAR-10 from a folder or an archive, see [Find].
func readCIFAR10(place string) (*Set, error) {
	files, err := readFiles(place, cifarFolder, cifarFiles, cifarBytes)
	if files == nil && err == nil {
		files, err = readArchive(place)
	}
	if err != nil {
		return nil, err
	}
	return newSet(files, len(files)-1, CIFAR10UnknownName, cifarClasses, decodeCIFAR10)
}

func readArchive(place string) ([]dataFile, error) {
	if info, err := os.Stat(place); err == nil && info.IsDir() {
		folder := place
		if place = filepath.Join(folder, cifarArchive); !exists(place) {
			return nil, fmt.Errorf("%s: found no CIFAR-10; its binary version is needed, as %s/ or %s", folder, cifarFolder, cifarArchive)
		}
	}
	packed, err := readPlain(place, maxUnpacked+gzipRoom)
	if err != nil {
		return nil, err
	}
	return unpackCIFAR10(packed, place)
}

// unpackCIFAR10 reads the six files from a gzipped tar in memory; place names it in errors. A hostile archive can do no harm: nothing is written, so
// no name in it becomes a path, and neither it nor a file in it unpacks to more than it should. Other entries, as the official archive has
// them, are skipped.
func unpackCIFAR10(packed []byte, place string) ([]dataFile, error) {
	unpacked, err := unzip(packed, place, maxUnpacked)
	if err != nil {
		return nil, err
	}
	files := make([]dataFile, len(cifarFiles))
	for i, name := range cifarFiles {
		files[i] = dataFile{name: name, place: place + ":" + name}
	}
	archive := tar.NewReader(bytes.NewReader(unpacked))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, damaged(place, "%w", err)
		}
		if i := slices.Index(cifarFiles, path.Base(header.Name)); i >= 0 {
			// A sparse file has any size.
			if files[i].bytes, err = io.ReadAll(io.LimitReader(archive, cifarBytes+1)); err != nil {
				return nil, damaged(files[i].place, "%w", err)
			}
		}
	}
}

// decodeCIFAR10 decodes files, each of which holds all its records.
func decodeCIFAR10(files []dataFile) (Images, error) {
	images := Images{Height: cifarSide, Width: cifarSide, Channels: 3, Pixels: make([]uint8, 0, len(files)*cifarRecords*cifarImage)}
	for _, f := range files {
		if len(f.bytes) != cifarBytes {
			return Images{}, damaged(f.place, "%d bytes, not %d", len(f.bytes), cifarBytes)
		}
		for i := range cifarRecords {
			record := f.bytes[i*cifarRecord:][:cifarRecord]
			if record[0] >= numClasses {
				return Images{}, damaged(f.place, "record %d has label %d, and there are only %d classes", i, record[0], numClasses)
			}
			images.Labels = append(images.Labels, record[0])
			for at := 1; at <= cifarPlane; at++ {
				images.Pixels = append(images.Pixels, record[at], record[at+cifarPlane], record[at+2*cifarPlane])
			}
		}
	}
	return images, nil
}
