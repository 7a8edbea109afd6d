// Package safefile reads and writes whole files, lists folders and locks. It opens regular files
// and folders of a disk alone, by their descriptors, and reads no more than a bound. It writes in
// one step: to a temporary name beside the file's place, which is then renamed, so that a kill
// leaves the old file.
package safefile

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"
)

// ErrOversized is the error of a file that is larger than the bound that it is read with.
var ErrOversized = errors.New("oversized")

var (
	errNotRegular = errors.New("it is no regular file")
	errFolder     = errors.New("it is a folder, no regular file")
	errKernel     = errors.New("it is of no disk, but the kernel's, as /proc and /sys are")
)

// Open opens a regular file for reading. A pipe, a device, a folder or a file of the kernel's is an
// error, and none makes it wait.
func Open(path string) (*os.File, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))
}

// regular returns a file that was opened if it is regular and of a disk.
func regular(file *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err == nil && info.IsDir():
		err = errFolder
	case err != nil || !info.Mode().IsRegular():
		err = errNotRegular
	case ofKernel(file):
		err = errKernel
	}
	if err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: file.Name(), Err: err}
	}
	return file, nil
}

// Absolute returns a path from the root, or as it is where the current folder is not known.
func Absolute(path string) string {
	absolute, _ := filepath.Abs(path)
	return cmp.Or(absolute, path)
}

// Quoted returns a path as a shell takes it.
func Quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

// maxEntries is the number of entries of the largest folder that is listed.
const maxEntries = 1 << 17

// ReadDir lists a folder by name, as [os.ReadDir] does. A folder of the kernel's, of devices, or of
// more than 131,072 entries is an error, and nothing makes it wait.
func ReadDir(path string) ([]fs.DirEntry, error) {
	folder, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(maxEntries + 1)
	device := func(entry fs.DirEntry) bool { return entry.Type()&fs.ModeDevice != 0 }
	switch {
	case ofKernel(folder):
		err = errKernel
	case err != nil && !errors.Is(err, io.EOF): // of an empty folder
		return nil, err
	case len(entries) > maxEntries:
		err = fmt.Errorf("it has more than %d entries", maxEntries)
	case slices.ContainsFunc(entries, device):
		err = errors.New("it has devices, as /dev has")
	default:
		slices.SortFunc(entries, func(a, b fs.DirEntry) int {
			return strings.Compare(a.Name(), b.Name())
		})
		return entries, nil
	}
	return nil, &fs.PathError{Op: "list", Path: path, Err: err}
}

// Read reads a regular file of up to most bytes.
func Read(path string, most int64) ([]byte, error) { return read(os.OpenFile, path, most) }

// ReadIn reads a file in an open folder as [Read] does. No path and no link leads out of the
// folder.
func ReadIn(root *os.Root, path string, most int64) ([]byte, error) {
	return read(root.OpenFile, path, most)
}

// read reads a regular file of up to most bytes, which open opens as [os.OpenFile] does.
func read(
	open func(path string, flag int, mode fs.FileMode) (*os.File, error), path string, most int64,
) ([]byte, error) {
	file, err := regular(open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var content []byte
	size := info.Size()
	if size <= most {
		content, err = io.ReadAll(io.LimitReader(file, most+1))
		size = int64(len(content)) // it may grow meanwhile
	}
	if err == nil && size > most {
		err = fmt.Errorf("%w: it has more than %d bytes", ErrOversized, most)
		err = &fs.PathError{Op: "read", Path: file.Name(), Err: err}
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
