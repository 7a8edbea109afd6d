package cache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// writableByAll reports whether every user may write to a file or folder.
func writableByAll(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o002 != 0
}

// checkOwners refuses files and folders that another user could change after their SHA-256 was verified: they must belong to
// this user or root, and not be writable by everybody. For a file that is executed, check it and its folders from the cache
// folder on.
func checkOwners(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || writableByAll(info) || !trusted(int(stat.Uid), os.Geteuid()) {
			return fmt.Errorf("%w: another user can change %s; set %s to a folder of your own", ErrUnusable, path, EnvVar)
		}
	}
	return nil
}

// trusted reports whether user may execute files of owner. Root may execute everybody's: in containers root uses folders of
// other users.
func trusted(owner, user int) bool {
	return owner == user || owner == 0 || user == 0
}
