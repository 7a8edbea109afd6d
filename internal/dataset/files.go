package dataset

import (
	"bufio"
	"cmp"
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

// advice is an error that says what to do, where a copy of the file would be as wrong.
type advice string

func (a advice) Error() string { return string(a) }

// damaged returns an error about what lies at place, with what to do.
func damaged(place string, err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		err = failed.Err // without the path, which is the place
	}
	switch {
	case errors.As(err, new(advice)):
		return fmt.Errorf("%s: %w", place, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w; make it readable to you", place, err)
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
// dash but one (train-images.idx3-ubyte), each with .gz or without, in the folder or in one that
// has such a name, as Kaggle's archive has it. If there is none, place is the first that was tried.
func readAs(folder, name string, most int64) (place string, content []byte, err error) {
	names, first := []string{name, strings.Replace(name, "-idx", ".idx", 1)}, ""
	for _, name := range []string{names[0], names[0] + ".gz", names[1], names[1] + ".gz"} {
		places := []string{filepath.Join(folder, name)}
		if info, err := os.Stat(places[0]); err == nil && info.IsDir() {
			places = []string{filepath.Join(places[0], names[0]), filepath.Join(places[0], names[1])}
		}
		for _, place := range places {
			first = cmp.Or(first, place)
			if content, err = readUnzipped(place, most); !missing(place, err) {
				return place, content, err
			}
		}
	}
	return first, nil, err
}

// missing reports whether an error means that nothing lies at place. A link to nowhere does.
func missing(place string, err error) bool {
	_, none := os.Lstat(place)
	return errors.Is(err, fs.ErrNotExist) && none != nil
}

// readUnzipped reads a file of up to most bytes, which may be gzipped, whatever its name says:
// browsers unpack files, and leave the name.
func readUnzipped(path string, most int64) ([]byte, error) {
	file, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	packed := bufio.NewReader(file)
	if begins, _ := packed.Peek(2); string(begins) != "\x1f\x8b" {
		return safefile.Read(path, most)
	}
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
