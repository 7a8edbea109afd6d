package safefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// TryLock locks a file, which it makes if it is missing, and reports whether nobody else holds it.
// The lock excludes other processes and other goroutines until it is closed; the kernel releases
// that of a process that dies. A pipe, a device or a folder is an error, and none makes it wait.
func TryLock(path string) (lock *flock.Flock, held bool, err error) {
	lock = newLock(path)
	held, err = lock.TryLock()
	if held {
		err = checkLock(lock)
	}
	return lock, held && err == nil, err
}

// Lock does what TryLock does, but waits until nobody else holds the file, or ctx ends. After a
// second it says so on standard error.
func Lock(ctx context.Context, path string) (*flock.Flock, error) {
	lock := newLock(path)
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	const retry = 50 * time.Millisecond
	_, err := lock.TryLockContext(soon, retry)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		fmt.Fprintf(os.Stderr, "waiting for another process, which holds %s\n", path)
		_, err = lock.TryLockContext(ctx, retry)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = checkLock(lock)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// newLock returns the lock of a file, which is not opened yet.
func newLock(path string) *flock.Flock {
	return flock.New(path, flock.SetPermissions(0o644),
		flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK))
}

// checkLock releases a lock on anything but a regular file, and returns an error.
func checkLock(lock *flock.Flock) error {
	info, err := lock.Stat() // of its descriptor
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "lock", Path: lock.Path(), Err: errNotRegular}
	}
	if err != nil {
		lock.Close()
	}
	return err
}
