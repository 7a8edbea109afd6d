// Package safefile reads and writes whole files. It reads regular files of bounded size alone. It writes in one step: to a temporary name
// beside the file's place, which is then renamed, so that a kill leaves the old file.
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

// Open opens a regular file for reading. A pipe, a device or a folder is an error, and none makes it wait.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("it is no regular file")}
	}
	return file, nil
}

// Read reads a regular file of at most that many bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("oversized: it has more than %d bytes", most)}
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

// Sum is the SHA-256 of a file's content in lower-case hexadecimal.
func Sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// RemoveUnfinished removes what a kill left in a folder of files whose names begin so: Write writes them there,
// under hidden names that end in digits. A folder that does not exist has none.
func RemoveUnfinished(folder, prefix string) error {
	left, err := fs.Glob(os.DirFS(folder), "."+prefix+"*[0-9]")
	for _, name := range left {
		err = errors.Join(err, os.Remove(filepath.Join(folder, name)))
	}
	return err
}
