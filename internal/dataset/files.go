package dataset

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// readFirst reads files from the first of a folder's subfolders that has any of them; "" is the
// folder itself. It returns nil without an error if none has.
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
		place := placeOf(folder, name)
		content, err := readUnzipped(place, most)
		switch {
		case err == nil:
			files = append(files, dataFile{name, place, content})
		case !missing(place):
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

// placeOf returns where a file lies: under its official name or, as gunzip -N restores it, with a
// dot for the last dash but one (train-images.idx3-ubyte), each with .gz or without, in the folder
// or in one that has such a name, as Kaggle's archive has it. A missing file lies at the first.
func placeOf(folder, name string) string {
	var places []string
	dotted := strings.Replace(name, "-idx", ".idx", 1)
	for _, stored := range []string{name, name + ".gz", dotted, dotted + ".gz"} {
		place := filepath.Join(folder, stored)
		if info, err := os.Stat(place); err == nil && info.IsDir() {
			places = append(places, filepath.Join(place, name), filepath.Join(place, dotted))
		} else {
			places = append(places, place)
		}
	}
	there := slices.IndexFunc(places, func(place string) bool { return !missing(place) })
	return places[max(0, there)]
}

// missing reports whether nothing lies at place. A link to nowhere does.
func missing(place string) bool {
	_, err := os.Lstat(place)
	return errors.Is(err, fs.ErrNotExist)
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
