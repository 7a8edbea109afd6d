package data

import (
	"errors"
	"fmt"
	"io"

	"ebsscgo/experiments/backend"
)

// Diagnose says which data sets are there, in dir, in $EBSSC_DATA or in the cache as [CIFAR10] and [MNIST] look for them,
// and what to do about those that are not. It reads them in full, downloads nothing and never fails.
func Diagnose(dir string) []backend.Finding {
	w := theWeb(io.Discard)
	return []backend.Finding{
		diagnose("CIFAR-10", namedFolder(dir), w.cifar10(),
			"name its folder with --data or $"+EnvVar+", or download it with: ebssc data fetch; MNIST takes its place until then"),
		diagnose("MNIST", namedFolder(dir), w.mnist(), "it is downloaded when it is needed, or with: ebssc data fetch"),
	}
}

// diagnose looks for one data set in the named folder, unless that is empty, or in the cache.
func diagnose(what, named string, s source, absent string) backend.Finding {
	if named != "" {
		set, err := s.read(named)
		if err == nil {
			return backend.Finding{What: what, Status: backend.OK, Detail: fmt.Sprintf("%s, in %s", Title(set.Name), named)}
		}
		if !errors.Is(err, errNoMNIST) {
			return backend.Finding{What: what, Status: backend.Missing, Detail: err.Error(), Do: "see to that folder, or name another"}
		}
	}
	dir, err := cacheFolder(s.name)
	if err != nil {
		return backend.Finding{What: what, Status: backend.Missing, Detail: err.Error(), Do: absent}
	}
	if s.intact(dir) == nil {
		return backend.Finding{What: what, Status: backend.Missing, Detail: "not in the cache, " + dir, Do: absent}
	}
	return backend.Finding{What: what, Status: backend.OK, Detail: "in the cache, " + dir}
}
