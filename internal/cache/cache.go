// Package cache finds and locks the user's cache folder, which holds what can be made or downloaded again (data sets, XLA plugins,
// fitted preprocessing), and installs files of pinned Python wheels into it.
package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// EnvVar names the environment variable that moves the cache folder.
const EnvVar = "EBSSC_CACHE"

// ErrUnusable is the error if there is no cache folder, or it cannot be written to.
var ErrUnusable = errors.New("cache folder cannot be used")

// Locate returns the absolute path of the cache folder: $EBSSC_CACHE if set, else "ebssc" in the operating system's cache
// folder of the user. It changes nothing, so that a read-only cache can be used. The folder need not exist yet.
//
// The error is [ErrUnusable], with what to do: no $HOME, a file in the folder's place, or a folder in which every user may
// replace files after they were verified.
func Locate() (dir string, err error) {
	if dir = os.Getenv(EnvVar); dir == "" {
		if dir, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("%w: %w; set HOME, or %s to a folder", ErrUnusable, err, EnvVar)
		}
		dir = filepath.Join(dir, "ebssc")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", elsewhere(err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dir, nil
	case err != nil:
		return "", elsewhere(err)
	case !info.IsDir():
		return "", elsewhere(fmt.Errorf("%s is not a folder", dir))
	case writableByAll(info):
		return "", fmt.Errorf("%w: every user may write to %s; set %s to a folder of your own, or run: chmod o-w %s",
			ErrUnusable, dir, EnvVar, dir)
	}
	return dir, nil
}

// Dir is [Locate] for writing: it makes the folder if needed and checks that files can be written to it. The error is
// [ErrUnusable].
func Dir() (string, error) {
	dir, err := Locate()
	if err != nil {
		return "", err
	}
	err = os.MkdirAll(dir, 0o755)
	var file *os.File
	if err == nil {
		file, err = os.CreateTemp(dir, ".probe-*")
	}
	if err != nil {
		return "", Explain(err)
	}
	_, err = file.Write(make([]byte, 4096)) // a full disk still accepts an empty file
	return dir, Explain(errors.Join(err, file.Close(), os.Remove(file.Name())))
}

// Explain adds what to do to an error of writing to the cache folder, and makes it [ErrUnusable], if the disk is full or cannot
// be written to. It returns other errors, and nil, unchanged.
func Explain(err error) error {
	switch {
	case errors.Is(err, ErrUnusable):
		return err // explained already
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w; free some room, or set %s to a folder on another disk", ErrUnusable, err, EnvVar)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return elsewhere(err)
	}
	return err
}

func elsewhere(err error) error {
	return fmt.Errorf("%w: %w; set %s to a folder that can be written to", ErrUnusable, err, EnvVar)
}

// LoadOrMake returns what load finds at kind/name in the cache folder. If that is nothing, a zero T, create makes it there, in one process at a
// time, and it is loaded again. A read-only folder is enough for what load finds.
func LoadOrMake[T comparable](ctx context.Context, kind, name string, load func(path string) T, create func(path string) error) (T, error) {
	var nothing T
	dir, err := Locate()
	if err != nil {
		return nothing, err
	}
	path := filepath.Join(dir, kind, name)
	if found := load(path); found != nothing {
		return found, nil
	}
	lock, err := lock(ctx, kind+"-"+name)
	if err != nil {
		return nothing, fmt.Errorf("%s %s is not in the cache: %w", kind, name, err)
	}
	defer lock.Close()
	if found := load(path); found != nothing { // another process has made it meanwhile
		return found, nil
	}
	if err := create(path); err != nil {
		return nothing, Explain(err)
	}
	found := load(path)
	if found == nothing {
		err = fmt.Errorf("%s: other bytes are read than were written; check that disk, or set %s to a folder on another", path, EnvVar)
	}
	return found, err
}

// lock waits for the lock of a name, which becomes a file name. It excludes other processes with the same cache folder, and other goroutines of
// this one. The kernel releases the lock of a process that dies.
func lock(ctx context.Context, name string) (*flock.Flock, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "locks", name+".lock")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, Explain(err)
	}
	lock := flock.New(file, flock.SetPermissions(0o644))
	if ok, err := lock.TryLock(); err == nil && !ok {
		fmt.Fprintf(os.Stderr, "waiting for another run, which holds %s\n", file)
	}
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return nil, Explain(fmt.Errorf("waiting for the lock %s: %w", file, err))
	}
	return lock, nil
}

func writableByAll(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// checkOwners refuses a file that another user could change after its SHA-256 was verified: it and its folders, up to the cache folder, must
// belong to this user or root, and not be writable by everybody. Root may execute everybody's: in containers root uses folders of other users.
func checkOwners(file string) error {
	for path, levels := file, 4; levels > 0; path, levels = filepath.Dir(path), levels-1 {
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

func trusted(owner, user int) bool { return owner == user || owner == 0 || user == 0 }
