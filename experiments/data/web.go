package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"ebsscgo/internal/cache"
)

// EnvVar names the environment variable that names the folder with the data.
const EnvVar = "EBSSC_DATA"

// namedFolder is the folder that the caller named, else the one that the environment does, else empty.
func namedFolder(dir string) string {
	if dir != "" {
		return dir
	}
	return os.Getenv(EnvVar)
}

// ErrUnavailable says that a data set is not in the cache and cannot be downloaded here.
var ErrUnavailable = errors.New("cannot be downloaded")

// web is where data sets are downloaded from, and how.
type web struct {
	cifar        remote
	cifarSHA256  string // fingerprint of the files in it
	mnistMirrors []string
	hub          func(context.Context) ([]dataFile, error)

	stall    time.Duration // a connection that brings no byte for so long is given up
	wait     time.Duration // before the first retry; it doubles with each
	progress io.Writer
}

// theWeb are the real addresses.
func theWeb(progress io.Writer) web {
	return web{
		cifar: cifarRemote, cifarSHA256: cifarOfficial,
		mnistMirrors: mnistMirrors, hub: fetchHub,
		stall: 30 * time.Second, wait: 500 * time.Millisecond,
		progress: progress,
	}
}

// source is a data set that the cache can hold, and where it comes from.
type source struct {
	name   string // of its folder in the cache
	sha256 string // fingerprint
	read   func(folder string) (*Set, error)
	fetch  func(ctx context.Context, folder string) ([]dataFile, error) // folder is for what it downloads
}

// cached reads a data set from the cache, and fetches it first if it is not there or damaged. Several processes at once
// fetch it once.
func (s source) cached(ctx context.Context) (*Set, error) {
	dir, err := cacheFolder(s.name)
	if err != nil {
		return nil, err
	}
	if set := s.intact(dir); set != nil {
		return set, nil
	}
	unlock, err := cache.Lock(ctx, "data-"+s.name)
	if err != nil {
		return nil, err
	}
	set, err := s.fill(ctx, dir)
	if err := errors.Join(err, unlock()); err != nil {
		return nil, err
	}
	return set, nil
}

// cacheFolder returns the folder for data of that name in the cache, and makes it.
func cacheFolder(name string) (string, error) {
	dir, err := cache.Dir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "data", name)
	return dir, os.MkdirAll(dir, 0o755)
}

// intact reads the data set in dir, and returns nil if it is not all there: it can be had again, so it does not matter why.
func (s source) intact(dir string) *Set {
	set, err := s.read(dir)
	if err != nil || set.SHA256 != s.sha256 {
		return nil
	}
	return set
}

// fill fetches a data set into the cache, of which the caller holds the lock, unless another process just did.
func (s source) fill(ctx context.Context, dir string) (*Set, error) {
	if set := s.intact(dir); set != nil {
		return set, nil
	}
	files, err := s.fetch(ctx, dir)
	if err != nil {
		return nil, err
	}
	if got := fingerprint(files); got != s.sha256 {
		return nil, fmt.Errorf("%s %w: the files that came have the fingerprint %s, not %s", s.name, ErrUnavailable, got, s.sha256)
	}
	for _, f := range files {
		if err := renameio.WriteFile(filepath.Join(dir, f.name), f.bytes, 0o644); err != nil {
			return nil, err
		}
	}
	return s.read(dir)
}
