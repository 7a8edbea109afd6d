// Package atomicfile writes files in one step: to a temporary name beside their place, and then renamed. A kill leaves the old file.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// Write replaces a file, whose folder has to exist. Others may read it.
func Write(path string, content []byte) error {
	return renameio.WriteFile(path, content, 0o644, beside(path))
}

// Create begins a file that replaces the one at path when it is closed with CloseAtomicallyReplace. Cleanup drops it, unless it was closed so.
func Create(path string) (*renameio.PendingFile, error) {
	return renameio.NewPendingFile(path, renameio.WithPermissions(0o644), beside(path))
}

// beside keeps the temporary file out of $TMPDIR, where RemoveUnfinished would not find it after a kill.
func beside(path string) renameio.Option { return renameio.WithTempDir(filepath.Dir(path)) }

// RemoveUnfinished removes what a kill left in a folder of files whose names begin so: Write and Create write them there,
// under hidden names that end in digits. A folder that does not exist has none.
func RemoveUnfinished(folder, prefix string) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for unfinished files: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, "."+prefix) || !strings.ContainsAny(name[len(name)-1:], "0123456789") {
			continue
		}
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("removing an unfinished file: %w", err)
		}
	}
	return nil
}
