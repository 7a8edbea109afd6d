package safefile

import (
	"context"
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
	lock = flock.New(path, flock.SetPermissions(0o644),
		flock.SetFlag(os.O_CREATE|os.O_RDONLY|syscall.O_NONBLOCK))
	if held, err = lock.TryLock(); !held {
		return lock, false, err
	}
	info, err := lock.Stat() // of its descriptor
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "lock", Path: path, Err: errNotRegular}
	}
	if err != nil {
		lock.Close()
	}
	return lock, err == nil, err
}

// Lock does what TryLock does, but waits until nobody else holds the file, or ctx ends. After a
// second it says so on standard error.
func Lock(ctx context.Context, path string) (*flock.Flock, error) {
	soon := time.After(time.Second)
	for ctx.Err() == nil {
		lock, held, err := TryLock(path)
		if held || err != nil {
			return lock, err
		}
		select {
		case <-ctx.Done():
		case <-soon:
			fmt.Fprintf(os.Stderr, "waiting for another process, which holds %s\n", path)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil, context.Cause(ctx)
}
