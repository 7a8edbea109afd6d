package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// cached reads a data set from the cache, which need not be one that can be written to, and fetches it first if it is not
// there or damaged. Several processes at once fetch it once.
func (s source) cached(ctx context.Context) (*Set, error) {
	dir, err := cachePath(s.name)
	if err != nil {
		return nil, err
	}
	if set := s.intact(dir); set != nil {
		return set, nil
	}
	unlock, err := cache.Lock(ctx, "data-"+s.name)
	if err != nil {
		return nil, fmt.Errorf("%s is not in the cache: %w", s.name, err)
	}
	set, err := s.fill(ctx, dir)
	if err := errors.Join(err, unlock()); errors.Is(err, ErrUnavailable) {
		return nil, fmt.Errorf("%w; check the network and try again, or name a folder that has it with --data or $%s", err, EnvVar)
	} else if err != nil {
		return nil, cache.Explain(err)
	}
	return set, nil
}

// cachePath returns where in the cache the data of that name are, or would be.
func cachePath(name string) (string, error) {
	dir, err := cache.Locate()
	return filepath.Join(dir, "data", name), err
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files, err := s.fetch(ctx, dir)
	if err != nil {
		return nil, err
	}
	if got := fingerprint(files); got != s.sha256 {
		return nil, fmt.Errorf("%s %w: the files that came have the fingerprint %s, not %s", s.name, ErrUnavailable, got, s.sha256)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.name
		if err := renameio.WriteFile(filepath.Join(dir, f.name), f.bytes, 0o644); err != nil {
			return nil, err
		}
	}
	return s.settle(dir, names)
}

// settle reads the set that was written, after it removed what else lies in the folder: parts of downloads, and what
// processes that were killed have left.
func (s source) settle(dir string, names []string) (*Set, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !slices.Contains(names, e.Name()) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	set, err := s.read(dir)
	if err == nil && set.SHA256 != s.sha256 {
		err = fmt.Errorf("%s: what was written there is read back with the fingerprint %s, not %s; check that disk, or set %s to a folder on another",
			dir, set.SHA256, s.sha256, cache.EnvVar)
	}
	return set, err
}
