package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// gzipRoom is by how much a gzipped file may be larger than what is in it.
const gzipRoom = 1 << 20

// exists says whether there is anything at path, be it something that cannot be read.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// openPlain opens a file that is no larger than size. It comes before anything is read, so that what has no end (a pipe, a
// device) or is far too large is refused at once.
func openPlain(path string, size int64) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; see that it can be read", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a plain file; copy or download it again", path)
	case info.Size() > size:
		return nil, fmt.Errorf("%s is oversized: %d bytes; copy or download it again", path, info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w; see that it can be read", err)
	}
	return f, nil
}
