package dataset

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ebsscgo/internal/safefile"
)

// dataFile is one file of a data set, read in full and unzipped.
type dataFile struct {
	name  string // official name, without .gz
	place string // where it was read, for messages
	bytes []byte
}

// damaged returns an error about what lies at place, with what to do.
func damaged(place string, err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		err = failed.Err // without the path, which is the place
	}
	return fmt.Errorf("%s: %w; copy or download it again", place, err)
}

// readFirst reads files from the first of some folders below a named one that has any of them. It
// returns nil without an error if none has.
func readFirst(folder string, below, names []string, most int64) ([]dataFile, error) {
	for _, part := range below {
		files, err := readFiles(filepath.Join(folder, part), names, most)
		if files != nil || err != nil {
			return files, err
		}
	}
	return nil, nil
}

// readFiles reads files of up to most bytes each from a folder. It returns nil without an error
// if all are missing.
func readFiles(folder string, names []string, most int64) (files []dataFile, failed error) {
	for _, name := range names {
		place, content, err := readAs(folder, name, most)
		switch {
		case err == nil:
			files = append(files, dataFile{name, place, content})
		case !missing(place, err):
			return nil, damaged(place, err)
		case failed == nil:
			failed = damaged(place, err)
		}
	}
	if files == nil {
		return nil, nil
	}
	return files, failed
}

// readAs reads a file under its official name or, as gunzip -N restores it, with a dot for the last
// dash but one (train-images.idx3-ubyte), each gzipped or not. If there is none, place is that of
// the official name.
func readAs(folder, name string, most int64) (place string, content []byte, err error) {
	for _, name := range []string{name, strings.Replace(name, "-idx", ".idx", 1)} {
		place = filepath.Join(folder, name)
		if content, err = safefile.Read(place, most); missing(place, err) {
			place += ".gz"
			content, err = readZipped(place, most)
		}
		if !missing(place, err) {
			return place, content, err
		}
	}
	return filepath.Join(folder, name), nil, err
}

// missing reports whether an error means that nothing lies at place. A link to nowhere does.
func missing(place string, err error) bool {
	_, none := os.Lstat(place)
	return errors.Is(err, fs.ErrNotExist) && none != nil
}

// readZipped reads a gzip file that holds up to most bytes.
func readZipped(path string, most int64) ([]byte, error) {
	packed, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	return unzip(packed, most)
}

// unzip unpacks a gzip file that holds up to most bytes.
func unzip(packed io.Reader, most int64) ([]byte, error) {
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("not a gzip file: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(unzipped, most+1))
	if err != nil {
		return nil, fmt.Errorf("truncated or damaged: %w", err)
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("unpacks to more than %d bytes", most)
	}
	return content, nil
}
