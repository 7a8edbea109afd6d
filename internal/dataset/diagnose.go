package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"

	"ebsscgo/internal/device"
)

// Fetch downloads CIFAR-10 and MNIST into the cache, where they are not there yet; progress takes a few lines about that.
// One that cannot be had ([ErrUnavailable]) does not keep the other away; any other error ends it.
func Fetch(ctx context.Context, progress io.Writer) (sets []*Set, err error) {
	w := theWeb(progress)
	for _, s := range []source{w.cifar10(), w.mnist()} {
		set, failed := s.cached(ctx)
		if failed != nil {
			err = errors.Join(err, failed)
			if !errors.Is(failed, ErrUnavailable) {
				break
			}
			continue
		}
		sets = append(sets, set)
	}
	return sets, err
}

// Verify reads in full the data sets that are there, in dir, in $EBSSC_DATA or in the cache as [CIFAR10] and [MNIST] look
// for them. It downloads nothing. A damaged file is an error, and so is to find nothing at all.
func Verify(dir string) (sets []*Set, err error) {
	w := theWeb(io.Discard)
	for _, s := range []source{w.cifar10(), w.mnist()} {
		set, err := s.stored(namedFolder(dir))
		if err != nil {
			return nil, err
		}
		if set != nil {
			sets = append(sets, set)
		}
	}
	if len(sets) == 0 {
		return nil, errors.New("no data set is there: name a folder with --data or $" + EnvVar + ", or run: ebssc data fetch")
	}
	return sets, nil
}

// Diagnose says which data sets are there, as [Verify] looks for them, and what to do about those that are not. It never
// fails.
func Diagnose(dir string) []device.Finding {
	w := theWeb(io.Discard)
	return []device.Finding{
		w.cifar10().diagnose("CIFAR-10", namedFolder(dir),
			"name its folder with --data or $"+EnvVar+", or download it with: ebssc data fetch; MNIST takes its place until then"),
		w.mnist().diagnose("MNIST", namedFolder(dir), "it is downloaded when it is needed, or with: ebssc data fetch"),
	}
}

func (s source) diagnose(what, named, absent string) device.Finding {
	set, err := s.stored(named)
	switch {
	case err != nil:
		return device.Finding{What: what, Status: device.Missing, Detail: err.Error(), Do: "see to that folder, or name another"}
	case set == nil:
		return device.Finding{What: what, Status: device.Missing, Detail: "not in the cache", Do: absent}
	}
	return device.Finding{What: what, Status: device.OK, Detail: fmt.Sprintf("%s, SHA-256 %s", Title(set.Name), set.SHA256)}
}

// stored reads the data set from the named folder, unless that is empty, or from the cache; nil if it is not there.
func (s source) stored(named string) (*Set, error) {
	if named != "" {
		set, err := s.read(named)
		if !errors.Is(err, errNoMNIST) {
			return set, err
		}
	}
	dir, err := cachePath(s.name)
	if err != nil {
		return nil, err
	}
	return s.intact(dir), nil
}
