package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
)

// cifarFiles are the data files in their official order, the test images last.
var cifarFiles = []string{
	"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin",
}

var cifarClasses = []string{
	"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
}

var (
	// cifarOfficial is the fingerprint of the official files, from their published hashes.
	cifarOfficial = listSHA256(cifarFiles, []string{
		"cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
		"a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
		"bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
		"014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
		"755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
		"8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
	})

	// cifarRemote is the official archive of those files.
	cifarRemote = remote{
		url:    "https://www.cs.toronto.edu/~kriz/" + cifarArchive,
		size:   170052171,
		sha256: "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
	}
)

// cifarJPEG is the fingerprint of the JPEG copy, decoded by Go's image/jpeg.
const cifarJPEG = "68374e1a504b4c1c7a5e90412bfd519a99352c878849adff125f93aadcb62a2f"

// CIFAR10 returns CIFAR-10 from its binary version.
//
// It is read from dir, or if dir is empty from the folder that $EBSSC_DATA names: a folder with the six files, or with
// cifar-10-batches-bin/ or cifar-10-binary.tar.gz in it, or the path of such an archive. A folder that is named so is the
// only place looked at: where a file in it is missing or damaged, that is an error, in one line, and nothing else is
// taken in its place. If none is named, it is read from the cache, into which it is downloaded from the official address
// first where it is not there yet; progress takes a few lines about that.
//
// The error is [ErrUnavailable] if the download failed: no network, no such file on the server, other bytes than the
// official ones. It is [cache.ErrUnusable] if there is no cache folder, or if it is needed and cannot be written to.
//
// The official archive is known by its published SHA-256, and so are the files in it (the hashes with which other
// libraries verify them). So a folder with the official files is named cifar10 wherever it came from, and a copy of any
// other bytes is not.
func CIFAR10(ctx context.Context, dir string, progress io.Writer) (*Set, error) {
	if dir := namedFolder(dir); dir != "" {
		return readCIFAR10(dir)
	}
	return theWeb(progress).cifar10().cached(ctx)
}

// cifar10 is the official archive.
func (w web) cifar10() source {
	return source{
		name: CIFAR10Name, sha256: w.cifarSHA256, read: readCIFAR10,
		fetch: func(ctx context.Context, dir string) ([]dataFile, error) {
			archive := filepath.Join(dir, cifarArchive)
			if err := w.download(ctx, w.cifar, archive); err != nil {
				return nil, err
			}
			files, err := readCIFAR10Archive(archive)
			return files, errors.Join(err, os.Remove(archive))
		},
	}
}

// readCIFAR10 reads it from a folder or an archive.
func readCIFAR10(place string) (*Set, error) {
	folder, archive, err := locateCIFAR10(place)
	if err != nil {
		return nil, err
	}
	var files []dataFile
	if archive != "" {
		files, err = readCIFAR10Archive(archive)
	} else {
		files, err = readCIFAR10Folder(folder)
	}
	if err != nil {
		return nil, err
	}
	return newCIFAR10(files)
}

// locateCIFAR10 says where in place the data files are: in a folder or in an archive, the other is empty.
func locateCIFAR10(place string) (folder, archive string, err error) {
	info, err := os.Stat(place)
	if err != nil {
		return "", "", fmt.Errorf("data folder: %w; name the folder with CIFAR-10 in it", err)
	}
	if !info.IsDir() {
		return "", place, nil
	}
	for _, folder := range []string{place, filepath.Join(place, cifarFolder)} {
		if slices.ContainsFunc(cifarFiles, func(name string) bool { return exists(filepath.Join(folder, name)) }) {
			return folder, "", nil
		}
	}
	if archive := filepath.Join(place, cifarArchive); exists(archive) {
		return "", archive, nil
	}
	return "", "", fmt.Errorf("%s: no CIFAR-10 here: the binary version is needed, as %s/ or %s",
		place, cifarFolder, cifarArchive)
}

func readCIFAR10Folder(folder string) ([]dataFile, error) {
	files := make([]dataFile, len(cifarFiles))
	for i, name := range cifarFiles {
		path := filepath.Join(folder, name)
		if !exists(path) {
			return nil, fmt.Errorf("%s is missing; copy or unpack all six files of CIFAR-10 again", path)
		}
		content, err := readUpTo(path, cifarBytes)
		if err != nil {
			return nil, err
		}
		if err := checkCIFAR10Size(path, int64(len(content))); err != nil {
			return nil, err
		}
		files[i] = dataFile{name: name, place: path, bytes: content}
	}
	return files, nil
}

// checkCIFAR10Size refuses a data file of any size but the one that all have.
func checkCIFAR10Size(place string, size int64) error {
	what := "truncated"
	switch {
	case size == cifarBytes:
		return nil
	case size > cifarBytes:
		what = "oversized"
	}
	return fmt.Errorf("%s is %s: %d bytes, not %d; copy or download it again", place, what, size, cifarBytes)
}

// newCIFAR10 makes the set from its six files.
func newCIFAR10(files []dataFile) (*Set, error) {
	set := &Set{Name: CIFAR10UnknownName, SHA256: fingerprint(files), Classes: cifarClasses}
	switch set.SHA256 {
	case cifarOfficial:
		set.Name = CIFAR10Name
	case cifarJPEG:
		set.Name = CIFAR10JPEGName
	}
	var err error
	last := len(files) - 1
	if set.Train, err = decodeCIFAR10(files[:last]); err != nil {
		return nil, err
	}
	if set.Test, err = decodeCIFAR10(files[last:]); err != nil {
		return nil, err
	}
	return set, nil
}

// decodeCIFAR10 reads the records of files, in which there may be any number of them.
func decodeCIFAR10(files []dataFile) (Images, error) {
	total := 0
	for _, f := range files {
		if len(f.bytes)%cifarRecord != 0 {
			return Images{}, fmt.Errorf("%s: %d bytes are not a whole number of records of %d bytes; copy or download it again",
				f.place, len(f.bytes), cifarRecord)
		}
		total += len(f.bytes) / cifarRecord
	}
	images := Images{
		Height: cifarSide, Width: cifarSide, Channels: 3,
		Pixels: make([]uint8, total*cifarImage), Labels: make([]uint8, 0, total),
	}
	for _, f := range files {
		for i := range len(f.bytes) / cifarRecord {
			record := f.bytes[i*cifarRecord:][:cifarRecord]
			if record[0] >= numClasses {
				return Images{}, fmt.Errorf("%s: record %d has label %d, and there are %d classes; copy or download it again",
					f.place, i, record[0], numClasses)
			}
			interleave(images.Pixels[len(images.Labels)*cifarImage:][:cifarImage], record[1:])
			images.Labels = append(images.Labels, record[0])
		}
	}
	return images, nil
}

// interleave turns an image's three planes into pixels of three channels.
func interleave(pixels, planes []uint8) {
	red, green, blue := planes[:cifarPlane], planes[cifarPlane:2*cifarPlane], planes[2*cifarPlane:]
	for i := range cifarPlane {
		pixels[3*i], pixels[3*i+1], pixels[3*i+2] = red[i], green[i], blue[i]
	}
}
