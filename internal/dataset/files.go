package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"ebsscgo/internal/safefile"
)

// gzipRoom is by how many bytes a gzipped file may exceed its content.
const gzipRoom = 1 << 20

// dataFile is one file of a data set, read in full and unzipped.
type dataFile struct {
	name  string // official name, without .gz
	place string // where it was read, for messages
	bytes []byte
}

func damaged(place, format string, details ...any) error {
	return fmt.Errorf("%s: %w; copy or download it again", place, fmt.Errorf(format, details...))
}

// exists says whether path names anything, readable or not.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// readFiles reads files of at most that many bytes, each gzipped or not, from folder or from sub below it. It returns nil without an error if all
// are missing.
func readFiles(folder, sub string, names []string, most int64) (files []dataFile, err error) {
	missing := ""
	for _, name := range names {
		plain, below := filepath.Join(folder, name), filepath.Join(folder, sub, name)
		candidates := []string{plain, plain + ".gz", below, below + ".gz"}
		found := slices.IndexFunc(candidates, exists)
		if found < 0 {
			missing = name
			continue
		}
		place := candidates[found]
		content, err := readPlain(place, most+gzipRoom)
		if err == nil && filepath.Ext(place) == ".gz" {
			content, err = unzip(content, place, most)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, dataFile{name, place, content})
	}
	if files != nil && missing != "" {
		missing = filepath.Join(filepath.Dir(files[0].place), missing)
		return nil, fmt.Errorf("%s is missing; copy or download all %d files again", missing, len(names))
	}
	return files, nil
}

// readPlain reads a regular file of at most that many bytes.
func readPlain(path string, most int64) ([]byte, error) {
	content, err := safefile.Read(path, most)
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return nil, fmt.Errorf("%w; check that it can be read", err)
	case err != nil:
		return nil, damaged(path, "%w", errors.Unwrap(err))
	}
	return content, nil
}

// unzip unpacks a gzip file that holds at most that many bytes; place names it in errors.
func unzip(packed []byte, place string, most int64) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, damaged(place, "not a gzip file: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(unzipped, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("unpacks to more than %d bytes", most)
	}
	if err != nil {
		return nil, damaged(place, "truncated or damaged: %w", err)
	}
	return content, nil
}
