// Package cache finds and locks the user's cache folder, which holds what can be made or downloaded
// again (data sets, XLA plugins, fitted preprocessing), and installs files of pinned Python wheels
// into it.
package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"ebsscgo/internal/safefile"
)

// EnvVar names the environment variable that moves the cache folder.
const EnvVar = "EBSSC_CACHE"

// ErrUnusable is the error of a cache folder that does not exist or cannot be written to.
var ErrUnusable = errors.New("cache folder cannot be used")

// Locate returns the absolute path of the cache folder: $EBSSC_CACHE if set, else "ebssc" in the
// operating system's cache folder of the user. It changes nothing, so that a read-only cache can be
// used. The folder need not exist yet.
//
// The error is [ErrUnusable], with what to do: no $HOME, or a relative path.
func Locate() (dir string, err error) {
	if dir = os.Getenv(EnvVar); dir == "" {
		if dir, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("%w: %w; set HOME, or %s to a folder", ErrUnusable, err, EnvVar)
		}
		dir = filepath.Join(dir, "ebssc")
	}
	if !filepath.IsAbs(dir) {
		return "", elsewhere(fmt.Errorf("%s is a relative path", dir))
	}
	return filepath.Clean(dir), nil
}

// Private reports whether an open file is this user's or root's, and not all users may write to it.
// Only such a file of the cache may decide what this program computes or runs, wherever the cache
// lies: one that others wrote is made again.
func Private(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	own := ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
	return own && info.Mode()&0o002 == 0
}

// explain adds what to do to an error of writing to the cache folder, and makes it [ErrUnusable],
// if the disk is full or cannot be written to. It returns other errors, and nil, unchanged.
func explain(err error) error {
	switch {
	case errors.Is(err, ErrUnusable):
		return err // explained already
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w; free some room, or set %s to a folder on another disk",
			ErrUnusable, err, EnvVar)
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS),
		errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.EINVAL): // of flock and fsync
		return fmt.Errorf("%w: %w, which its disk refuses, as some network disks do; "+
			"set %s to a folder on another disk", ErrUnusable, err, EnvVar)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrExist),
		errors.Is(err, fs.ErrNotExist), // where no folder can be made, as in /proc
		errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return elsewhere(err)
	}
	return err
}

// elsewhere makes an error [ErrUnusable], and adds that another folder will do.
func elsewhere(err error) error {
	return fmt.Errorf("%w: %w; set %s to the absolute path of a folder of your own that can be "+
		"written to", ErrUnusable, err, EnvVar)
}

// makeFolder makes a folder, and checks that so many bytes can be written to it.
func makeFolder(dir string, bytes uint64) error {
	var disk unix.Statfs_t
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = unix.Access(dir, unix.W_OK)
	}
	if err == nil {
		err = unix.Statfs(dir, &disk)
	}
	counted := disk.Blocks > 0 // some network disks count no blocks
	if err == nil && counted && disk.Bavail*uint64(disk.Bsize) < bytes {
		err = syscall.ENOSPC
	}
	if err != nil {
		return explain(fmt.Errorf("writing to %s: %w", dir, err))
	}
	return nil
}

// LoadOrMake returns what load finds at kind/name in the cache folder. If that is nothing, a zero T,
// create makes it there, in one process at a time, and it is loaded again. A read-only folder is
// enough for what load finds.
func LoadOrMake[T comparable](
	ctx context.Context, kind, name string,
	load func(path string) T, create func(path string) error,
) (found T, err error) {
	var nothing T
	var dir, path string
	missing := func() bool {
		if dir, err = Locate(); err == nil {
			path = filepath.Join(dir, kind, name)
			found = load(path)
		}
		return err == nil && found == nothing
	}
	if !missing() {
		return found, err
	}
	lock, err := lock(ctx, dir, filepath.Base(kind)+"-"+name)
	if err != nil {
		return nothing, fmt.Errorf("%s %s is not in the cache: %w", kind, name, err)
	}
	defer lock.Close()
	if !missing() { // another process has made it meanwhile
		return found, err
	}
	if err = create(path); err != nil {
		return nothing, explain(err)
	}
	if missing() {
		err = fmt.Errorf("%s: other bytes are read than were written, or all users may write there, "+
			"as on some foreign disks; check that disk, or set %s to a folder on another", path, EnvVar)
	}
	return found, err
}

// lock waits for the lock of that name in the cache folder. It excludes other processes that use
// the folder, and other goroutines of this one. The kernel releases the lock of a process that
// dies.
func lock(ctx context.Context, dir, name string) (*flock.Flock, error) {
	file := filepath.Join(dir, "locks", name+".lock")
	if err := makeFolder(filepath.Dir(file), 1<<12); err != nil {
		return nil, err
	}
	lock, err := safefile.Lock(ctx, file)
	if err != nil {
		err = explain(fmt.Errorf("waiting for the lock %s: %w", file, err))
	}
	return lock, err
}
