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
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"ebsscgo/internal/safefile"
)

// EnvVar names the environment variable that moves the cache folder.
const EnvVar = "EBSSC_CACHE"

// ErrUnusable is the error of a cache folder that does not exist, that another user can change, or
// that cannot be written to.
var ErrUnusable = errors.New("cache folder cannot be used")

// Locate returns the absolute path of the cache folder, without symbolic links: $EBSSC_CACHE if
// set, else "ebssc" in the operating system's cache folder of the user. It changes nothing, so that
// a read-only cache can be used. The folder need not exist yet, except in one like /tmp, where
// another user could make it first.
//
// The error is [ErrUnusable], with what to do: no $HOME, a relative path, or a folder that another
// user can change.
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
	real, err := trust(dir)
	if err == nil {
		return real, nil
	}
	_, missing := os.Stat(dir)
	above, unknown := os.Stat(filepath.Dir(dir))
	if errors.Is(missing, fs.ErrNotExist) && unknown == nil && above.Mode()&fs.ModeSticky != 0 {
		err = elsewhere(fmt.Errorf("%s is not there, and another user could make it first: "+
			"mkdir %[1]s, if that is where it is to be", dir))
	}
	return "", err
}

// trust returns a path without symbolic links, and refuses one at which another user can change or
// exchange what lies there. The path and the folders above must belong to this user or root, and
// nobody else may write to them, except above to a folder like /tmp, where all keep their own files
// ("sticky"). The user's groups may write: the first is often the user alone, and for another one
// trust warns, as it warns root if another user owns root's home.
func trust(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		parent, err := trust(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	var stat unix.Stat_t
	for part, child := real, ""; err == nil && part != child; part, child = filepath.Dir(part), part {
		if err = unix.Lstat(part, &stat); err != nil {
			break
		}
		group := stat.Mode&unix.S_IWGRP != 0 && int(stat.Gid) != os.Getegid()
		shared := group && isMember(stat.Gid)
		written := stat.Mode&unix.S_IWOTH != 0 || group && !shared
		sticky := child != "" && stat.Mode&unix.S_ISVTX != 0
		own := stat.Uid == 0 || int(stat.Uid) == os.Geteuid() || child != "" && unmapped("uid", stat.Uid)
		switch {
		case written && !sticky || !own && !mountedHome(stat.Uid):
			err = fmt.Errorf("another user can change %s", part)
		case !own:
			warn("user %d can change %s", stat.Uid, part)
		case shared && !sticky:
			warn("the members of group %d can change %s", stat.Gid, part)
		}
	}
	if err != nil {
		return "", elsewhere(fmt.Errorf("%s: %w", path, err))
	}
	return real, nil
}

var warned sync.Once

// warn writes the first warning of this process.
func warn(format string, values ...any) {
	warned.Do(func() {
		format = "warning: " + format + ", in which this program keeps what it runs\n"
		fmt.Fprintf(os.Stderr, format, values...)
	})
}

// mountedHome reports whether this is root with the home of that owner: in a container in which the
// home of who started it is mounted.
func mountedHome(owner uint32) bool {
	var home unix.Stat_t
	return os.Geteuid() == 0 && unix.Stat(os.Getenv("HOME"), &home) == nil && home.Uid == owner
}

// isMember reports whether a group is one of this user's. Those that a user namespace leaves out
// look alike.
func isMember(group uint32) bool {
	groups, err := os.Getgroups()
	return err == nil && slices.Contains(groups, int(group)) && !unmapped("gid", group)
}

// unmapped reports whether an owner ("uid") or a group ("gid") is the one that the kernel shows for
// all that this process's user namespace leaves out, as that of Apptainer does with root: then
// root's folders seem to be nobody's. They may lie above a folder of this user's own, whose place
// this user has chosen.
func unmapped(kind string, id uint32) bool {
	overflow, err := os.ReadFile("/proc/sys/kernel/overflow" + kind)
	ranges, missing := os.ReadFile("/proc/self/" + kind + "_map")
	if err != nil || missing != nil || strings.TrimSpace(string(overflow)) != fmt.Sprint(id) {
		return false
	}
	for line := range strings.Lines(string(ranges)) {
		var first, there, count uint32
		_, err := fmt.Sscan(line, &first, &there, &count)
		if err != nil || id >= first && id-first < count {
			return false // it is an ID like others
		}
	}
	return true
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

// LoadOrMake returns what load finds at kind/name in the cache folder, where no other user can
// change it. If that is nothing, a zero T, create makes it there, in one process at a time, and it
// is loaded again. A read-only folder is enough for what load finds.
func LoadOrMake[T comparable](
	ctx context.Context, kind, name string,
	load func(path string) T, create func(path string) error,
) (found T, err error) {
	var nothing T
	var dir, path string
	missing := func() bool {
		if dir, err = Locate(); err == nil {
			path, err = trust(filepath.Join(dir, kind, name))
		}
		if err == nil {
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
		err = fmt.Errorf("%s: other bytes are read than were written; check that disk, or set %s to "+
			"a folder on another", path, EnvVar)
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
