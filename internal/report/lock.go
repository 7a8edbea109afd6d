package report

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lock waits until no other process writes the reports of a profile's folder, and keeps others waiting until unlock is called
// or this process ends, however it ends. Without it the slower of two could put back lines that the other has replaced.
func lock(folder string) (unlock func() error, err error) {
	runs := filepath.Join(folder, RunsFolder)
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return nil, fmt.Errorf("a folder for runs: %w", err)
	}
	file := flock.New(filepath.Join(runs, "report.lock"))
	if err := file.Lock(); err != nil {
		return nil, fmt.Errorf("locking the reports in %s: %w", folder, err)
	}
	return file.Unlock, nil
}
