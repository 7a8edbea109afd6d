package dataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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

// fetchCIFAR10 downloads the official archive.
func fetchCIFAR10(ctx context.Context, log io.Writer) ([]dataFile, error) {
	archive, err := cifarRemote.download(ctx, log)
	if err != nil {
		return nil, err
	}
	return unpackCIFAR10(bytes.NewReader(archive), cifarRemote.url)
}

// errNoCIFAR10 says that a folder has nothing of CIFAR-10.
var errNoCIFAR10 = errors.New("found no CIFAR-10")

// readCIFAR10 reads CIFAR-10 from a folder or an archive, see [Find]. The error is errNoCIFAR10 if neither is there.
func readCIFAR10(place string) (*Set, error) {
	files, err := readCIFAR10Files(place)
	if err != nil {
		return nil, err
	}
	return newSet(files, len(files)-1, CIFAR10UnknownName, cifarClasses, decodeCIFAR10)
}

func readCIFAR10Files(place string) ([]dataFile, error) {
	archive := place
	if info, err := os.Stat(place); err != nil || info.IsDir() {
		files, err := readFiles(place, cifarFolder, cifarFiles, cifarBytes, cifarBytes)
		if files != nil || err != nil {
			return files, err
		}
		if archive = filepath.Join(place, cifarArchive); !exists(archive) {
			return nil, fmt.Errorf("%s: %w; its binary version is needed, as %s/ or %s", place, errNoCIFAR10, cifarFolder, cifarArchive)
		}
	}
	packed, err := readPlain(archive, maxUnpacked+gzipRoom)
	if err != nil {
		return nil, err
	}
	return unpackCIFAR10(bytes.NewReader(packed), archive)
}

// unpackCIFAR10 reads the six files from a gzipped tar stream into memory; place names it in errors. A hostile archive can do no harm:
// nothing is written, so no name in it becomes a path; a data file is refused unless its size is right; and what unpacks to more
// than all six files is refused. Other entries, as the official archive has them, are skipped.
func unpackCIFAR10(compressed io.Reader, place string) ([]dataFile, error) {
	unzipped, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, damaged(place, "not a gzip file: %w", err)
	}
	limited := &io.LimitedReader{R: unzipped, N: maxUnpacked}
	files, err := untarCIFAR10(limited, place)
	if err == nil {
		_, err = io.Copy(io.Discard, limited) // gzip compares its checksum at the end of the stream
	}
	if limited.N <= 0 {
		err = fmt.Errorf("unpacks to more than the %d bytes that CIFAR-10 needs", maxUnpacked)
	}
	if err != nil {
		return nil, damaged(place, "%w", err)
	}
	return files, nil
}

// untarCIFAR10 reads the six files from a tar stream.
func untarCIFAR10(r io.Reader, place string) ([]dataFile, error) {
	files := make([]dataFile, len(cifarFiles))
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("truncated or damaged: %w", err)
		}
		i := slices.Index(cifarFiles, path.Base(header.Name))
		if i < 0 || header.Typeflag != tar.TypeReg {
			continue
		}
		if files[i].bytes != nil {
			return nil, fmt.Errorf("two files are named %s", cifarFiles[i])
		}
		if err := checkSize(header.Size, cifarBytes, cifarBytes); err != nil {
			return nil, fmt.Errorf("%s is %w", header.Name, err)
		}
		files[i] = dataFile{name: cifarFiles[i], place: place + ":" + cifarFiles[i], bytes: make([]byte, cifarBytes)}
		if _, err := io.ReadFull(archive, files[i].bytes); err != nil {
			return nil, fmt.Errorf("%s is truncated or damaged: %w", header.Name, err)
		}
	}
	for i, f := range files {
		if f.bytes == nil {
			return nil, fmt.Errorf("no %s in the archive", cifarFiles[i])
		}
	}
	return files, nil
}

// decodeCIFAR10 decodes files of any number of records.
func decodeCIFAR10(files []dataFile) (Images, error) {
	total := 0
	for _, f := range files {
		total += len(f.bytes)
	}
	images := Images{Height: cifarSide, Width: cifarSide, Channels: 3, Pixels: make([]uint8, 0, total)}
	for _, f := range files {
		if len(f.bytes)%cifarRecord != 0 {
			return Images{}, damaged(f.place, "%d bytes are not a whole number of records of %d bytes", len(f.bytes), cifarRecord)
		}
		for i := range len(f.bytes) / cifarRecord {
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
