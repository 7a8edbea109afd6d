package device

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// noexec returns where the disk of a file is mounted, if nothing on it can be executed; else "".
func noexec(path string) (mount string) {
	var disk unix.Statfs_t
	var on, above unix.Stat_t
	err := errors.Join(unix.Statfs(path, &disk), unix.Stat(path, &on))
	if err != nil || disk.Flags&unix.ST_NOEXEC == 0 {
		return ""
	}
	for mount = path; mount != "/"; mount = filepath.Dir(mount) {
		if unix.Stat(filepath.Dir(mount), &above) != nil || above.Dev != on.Dev {
			break
		}
	}
	return mount
}
