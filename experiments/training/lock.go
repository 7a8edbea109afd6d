package training

import (
	"fmt"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lock keeps other processes out of a run's folder until unlock is called or this process ends, however it ends.
func lock(folder string) (unlock func() error, err error) {
	file := flock.New(filepath.Join(folder, "lock"))
	ok, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", folder, err)
	}
	if !ok {
		return nil, fmt.Errorf("another process is training in %s: wait for it, or give another folder with --results", folder)
	}
	return file.Unlock, nil
}
