// Package safefile reads and writes whole files, and locks. It opens regular files alone, by their
// descriptors, and reads no more than a bound. It writes in one step: to a temporary name beside
// the file's place, which is then renamed, so that a kill leaves the old file.
package safefile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

var (
	errNotRegular = errors.New("it is no regular file")
	errFolder     = errors.New("it is a folder, no regular file")
)

// Open opens a regular file for reading. A pipe, a device or a folder is an error, and none makes
// it wait.
func Open(path string) (*os.File, error) {
	return regular(path, func() (*os.File, error) {
		return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	})
}

// regular opens a file and returns it if it is regular.
func regular(path string, open func() (*os.File, error)) (*os.File, error) {
	file, err := open()
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err == nil && info.IsDir():
		err = errFolder
	case err != nil || !info.Mode().IsRegular():
		err = errNotRegular
	}
	if err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return file, nil
}

// Read reads a regular file of up to most bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	return readAll(file, path, most)
}

// ReadIn reads a file in an open folder as [Read] does. No path and no link leads out of the
// folder.
func ReadIn(root *os.Root, path string, most int64) ([]byte, error) {
	file, err := regular(path, func() (*os.File, error) {
		return root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	})
	if err != nil {
		return nil, err
	}
	return readAll(file, path, most)
}

// readAll reads a file of up to most bytes and closes it.
func readAll(file *os.File, path string, most int64) ([]byte, error) {
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("oversized: it has more than %d bytes", most)
		err = &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return content, err
}

// Write replaces a file, whose folder has to exist. Others may read it if the umask lets them.
func Write(path string, content []byte) error {
	// Not in $TMPDIR, where RemoveUnfinished would not find it after a kill.
	return explain(renameio.WriteFile(path, content, 0o644, renameio.WithTempDir(filepath.Dir(path))))
}

// explain adds what to do to the error of a disk that cannot say when a file is safe on it (fsync),
// as some network disks cannot.
func explain(err error) error {
	failed := (*fs.PathError)(nil)
	if errors.As(err, &failed) && failed.Op == "sync" {
		return fmt.Errorf("%w: its disk refuses to make files safe (fsync); "+
			"take a folder on another disk", err)
	}
	return err
}

// Sum returns the SHA-256 of a file's content in lower-case hexadecimal.
func Sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// RemoveUnfinished removes the files that a kill left unfinished in a folder, of those whose names
// begin with prefix: Write writes under hidden names that end in digits. A folder that does not
// exist has none.
func RemoveUnfinished(folder, prefix string) error {
	left, err := fs.Glob(os.DirFS(folder), "."+prefix+"*[0-9]")
	for _, name := range left {
		err = errors.Join(err, os.Remove(filepath.Join(folder, name)))
	}
	return err
}
