// Package cache finds the user's cache folder, where everything lives that can be made or
// downloaded again: data sets, XLA plugins, fitted preprocessing.
package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// EnvVar names the environment variable that moves the cache folder.
const EnvVar = "EBSSC_CACHE"

// retryDelay is the time between two attempts at a lock that another process holds.
const retryDelay = 100 * time.Millisecond

// Dir returns the absolute path of the cache folder and creates it if needed: $EBSSC_CACHE if set,
// else "ebssc" in the operating system's cache folder of the user.
//
// It fails if there is no such folder (no $HOME), or if nothing can be written to it.
func Dir() (string, error) {
	dir, err := locate()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cache folder: %w; set %s to a folder that can be written to", err, EnvVar)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return "", fmt.Errorf("cache folder: %w; set %s to a folder that can be written to", err, EnvVar)
	}
	if err := probe.Close(); err != nil {
		return "", fmt.Errorf("cache folder: %w", err)
	}
	if err := os.Remove(probe.Name()); err != nil {
		return "", fmt.Errorf("cache folder: %w", err)
	}
	return dir, nil
}

// locate returns the path of the cache folder without touching it.
func locate() (string, error) {
	if dir := os.Getenv(EnvVar); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("cache folder %s=%q: %w", EnvVar, dir, err)
		}
		return abs, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; set HOME, or %s to a folder", err, EnvVar)
	}
	return filepath.Join(base, "ebssc"), nil
}

// Lock waits until this process alone holds the lock called name, and returns the function that
// releases it. Processes which share a cache folder (test binaries start several at once) exclude one
// another, and so do goroutines of one process. The kernel releases the lock of a process that dies.
//
// name becomes a file name. Lock fails if ctx ends first or the cache folder cannot be used.
func Lock(ctx context.Context, name string) (unlock func() error, err error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	lock := flock.New(filepath.Join(dir, name+".lock"))
	if _, err := lock.TryLockContext(ctx, retryDelay); err != nil {
		return nil, fmt.Errorf("waiting for the lock %s: %w", lock.Path(), err)
	}
	return lock.Unlock, nil
}
