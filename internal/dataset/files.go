package dataset

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"ebsscgo/internal/safefile"
)

// dataFile is one file of a data set, read in full and unzipped.
type dataFile struct {
	name  string // official name, without .gz
	place string // where it was read, for messages
	bytes []byte
}

// damaged is an error of what lies at place, with what to do.
func damaged(place string, err error) error {
	if of := new(fs.PathError); errors.As(err, &of) {
		err = of.Err // without the path, which is the place
	}
	return fmt.Errorf("%s: %w; copy or download it again", place, err)
}

// readFiles reads files of at most that many bytes from a folder, each gzipped or not. It returns nil without an error if all are missing.
func readFiles(folder string, names []string, most int64) (files []dataFile, failed error) {
	for _, name := range names {
		place := filepath.Join(folder, name)
		content, err := safefile.Read(place, most)
		if errors.Is(err, fs.ErrNotExist) {
			place += ".gz"
			content, err = readZipped(place, most)
		}
		if err == nil {
			files = append(files, dataFile{name, place, content})
		} else if failed = damaged(place, err); !errors.Is(err, fs.ErrNotExist) {
			return nil, failed
		}
	}
	if files == nil {
		return nil, nil
	}
	return files, failed
}

// readZipped reads a gzip file that holds at most that many bytes.
func readZipped(path string, most int64) ([]byte, error) {
	packed, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	return unzip(packed, most)
}

// unzip unpacks a gzip file that holds at most that many bytes.
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
