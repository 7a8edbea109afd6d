//go:build unix

package cache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// writableByAll says whether every user may write to a folder.
func writableByAll(folder fs.FileInfo) bool {
	return folder.Mode().Perm()&0o002 != 0
}

// CheckOwners refuses files and folders that another user could change at any moment, also after their hash was checked:
// they must be this user's or root's, and not be writable by everybody. Of what is executed, the file and the folders that
// lead to it from the cache folder on are checked.
func CheckOwners(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("%s: its owner cannot be found out", path)
		}
		if writableByAll(info) || !trusted(int(stat.Uid), os.Geteuid()) {
			return fmt.Errorf("%w: another user can change %s; set %s to a folder of your own", ErrUnusable, path, EnvVar)
		}
	}
	return nil
}

// trusted says whether user may execute what belongs to owner. Root may everything: in containers it is nobody in
// particular, and its files lie in folders of others.
func trusted(owner, user int) bool {
	return owner == user || owner == 0 || user == 0
}
