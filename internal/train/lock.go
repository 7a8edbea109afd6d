package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// lock keeps other processes out of a run's folder until unlock is called or this process ends, however it ends.
func lock(folder string) (unlock func() error, err error) {
	file := flock.New(filepath.Join(folder, lockFile))
	ok, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", folder, err)
	}
	if !ok {
		return nil, fmt.Errorf("another process is training in %s: wait for it, or give another folder with --results", folder)
	}
	return file.Unlock, nil
}

// tidy removes what a process that was killed left of files that it was writing. The folder must be locked.
func tidy(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("tidying a run's folder: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "."+CurveFile) || strings.HasPrefix(entry.Name(), "."+resultFile) {
			if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil {
				return fmt.Errorf("tidying a run's folder: %w", err)
			}
		}
	}
	return nil
}
