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
	"syscall"
)

// gzipRoom is by how many bytes a gzipped file may exceed its content.
const gzipRoom = 1 << 20

// dataFile is one file of a data set, read in full and unzipped.
type dataFile struct {
	name  string // official name, without .gz
	place string // where it was read, for messages
	bytes []byte
}

// damaged is the error for a file whose content cannot be used.
func damaged(place, format string, details ...any) error {
	return fmt.Errorf("%s: %w; copy or download it again", place, fmt.Errorf(format, details...))
}

// exists says whether path names anything, readable or not.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// readFile reads a file with at most limit bytes of content, and unzips it if its name ends in .gz.
func readFile(path string, limit int64) ([]byte, error) {
	if filepath.Ext(path) != ".gz" {
		return readPlain(path, limit)
	}
	zipped, err := readPlain(path, limit+gzipRoom)
	if err != nil {
		return nil, err
	}
	content, err := unzip(bytes.NewReader(zipped), limit)
	if err != nil {
		return nil, damaged(path, "%w", err)
	}
	return content, nil
}

// readPlain reads a file of at most limit bytes. It first checks the file's kind and size, so that an endless one (a pipe, a
// device) is refused without reading, and then reads no more than that size.
func readPlain(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, damaged(path, "missing")
	case err != nil:
		return nil, fmt.Errorf("%w; check its permissions", err)
	case !info.Mode().IsRegular():
		return nil, damaged(path, "not a plain file")
	case info.Size() > limit:
		return nil, damaged(path, "oversized: %d bytes", info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; check its permissions", err)
	}
	defer f.Close() // read only: nothing to lose
	content := make([]byte, info.Size())
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, damaged(path, "truncated while it was read: %w", err)
	}
	return content, nil
}

// unzip reads a gzipped stream with at most limit bytes of content.
func unzip(r io.Reader, limit int64) ([]byte, error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("not a gzip file: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(unzipped, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("truncated or damaged: %w", err)
	case int64(len(content)) > limit:
		return nil, fmt.Errorf("oversized: more than %d bytes", limit)
	}
	return content, nil
}
