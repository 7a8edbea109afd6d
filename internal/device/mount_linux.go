package device

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// noexec returns where the disk of a file is mounted, if nothing on it can be executed; else "".
func noexec(path string) (mount string) {
	var disk unix.Statfs_t
	var on, above unix.Stat_t
	if unix.Statfs(path, &disk) != nil || disk.Flags&unix.ST_NOEXEC == 0 ||
		unix.Stat(path, &on) != nil {
		return ""
	}
	for mount = path; mount != "/"; mount = filepath.Dir(mount) {
		if unix.Stat(filepath.Dir(mount), &above) != nil || above.Dev != on.Dev {
			break
		}
	}
	return mount
}
