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

// readFiles reads files of at least and at most that many bytes, each gzipped or not, from folder or from sub below it. It
// returns nil without an error if all are missing.
func readFiles(folder, sub string, names []string, least, most int64) (files []dataFile, err error) {
	missing := ""
	for _, name := range names {
		plain, below := filepath.Join(folder, name), filepath.Join(folder, sub, name)
		candidates := []string{plain, plain + ".gz", below, below + ".gz"}
		found := slices.IndexFunc(candidates, exists)
		if found < 0 {
			missing = name
			continue
		}
		content, err := readFile(candidates[found], least, most)
		if err != nil {
			return nil, err
		}
		files = append(files, dataFile{name: name, place: candidates[found], bytes: content})
	}
	if files != nil && missing != "" {
		missing = filepath.Join(filepath.Dir(files[0].place), missing)
		return nil, fmt.Errorf("%s is missing; copy or download all %d files again", missing, len(names))
	}
	return files, nil
}

// readFile reads a file of at least and at most that many bytes, unzipped if its name ends in .gz.
func readFile(path string, least, most int64) ([]byte, error) {
	content, err := readPlain(path, most+gzipRoom)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(path) == ".gz" {
		content, err = unzip(bytes.NewReader(content), most)
	}
	if err == nil {
		err = checkSize(int64(len(content)), least, most)
	}
	if err != nil {
		return nil, damaged(path, "%w", err)
	}
	return content, nil
}

// checkSize refuses a number of bytes outside of these bounds.
func checkSize(size, least, most int64) error {
	switch {
	case size < least:
		return fmt.Errorf("truncated: %d bytes, less than %d", size, least)
	case size > most:
		return fmt.Errorf("oversized: %d bytes, more than %d", size, most)
	}
	return nil
}

// readPlain reads a file of at most that many bytes. It first checks the file's kind and size, so that an endless one (a
// pipe, a device) is refused without reading, and then reads no more than that size.
func readPlain(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w; check that it can be read", err)
	}
	if !info.Mode().IsRegular() {
		return nil, damaged(path, "not a plain file")
	}
	if err := checkSize(info.Size(), 0, most); err != nil {
		return nil, damaged(path, "%w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; check that it can be read", err)
	}
	defer f.Close() // read only: nothing to lose
	content := make([]byte, info.Size())
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, damaged(path, "truncated while it was read: %w", err)
	}
	return content, nil
}

// unzip reads a gzipped stream of at most that many bytes, or a byte more, unzipped.
func unzip(r io.Reader, most int64) ([]byte, error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("not a gzip file: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(unzipped, most+1))
	if err != nil {
		return nil, fmt.Errorf("truncated or damaged: %w", err)
	}
	return content, nil
}
