//go:build unix

package device

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes returns how much the user may still write to the disk that holds dir.
func freeBytes(dir string) (uint64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("free room in %s: %w", dir, err)
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), nil
}
