package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ebsscgo/experiments"
	"ebsscgo/internal/train"
)

// Merged says what came of putting folders of results together, in runs' IDs.
type Merged struct {
	// Added are runs that were not there, and Twice those that were, with the same result.
	Added, Twice []string
	// Inconsistent are runs that were there with another result, which was kept.
	Inconsistent []string
	// Unfinished are runs without a result, which were left where they are.
	Unfinished []string
}

// Merge adds the finished runs of other folders of results to one. A run is identified by all that decides its result, so of
// one that both have nothing is taken.
func Merge(results string, others ...string) (m Merged, err error) {
	for _, other := range others {
		if _, err := os.Stat(other); err != nil {
			return m, fmt.Errorf("no results in %s: %w", other, err)
		}
		for _, profile := range experiments.Profiles {
			if err := m.add(filepath.Join(results, profile.Name, RunsFolder), filepath.Join(other, profile.Name, RunsFolder)); err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

// add adds the runs of a folder.
func (m *Merged) add(runs, others string) error {
	entries, err := os.ReadDir(others)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading recorded runs: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		id := entry.Name()
		from, to := filepath.Join(others, id), filepath.Join(runs, id)
		theirs, ok, err := train.Load(from)
		if err != nil {
			return err
		}
		if !ok {
			m.Unfinished = append(m.Unfinished, id)
			continue
		}
		ours, ok, err := train.Load(to)
		switch {
		case err != nil:
			return err
		case !ok:
			if err := train.Adopt(from, to); err != nil {
				return err
			}
			m.Added = append(m.Added, id)
		case ours.Same(theirs):
			m.Twice = append(m.Twice, id)
		default:
			m.Inconsistent = append(m.Inconsistent, id)
		}
	}
	return nil
}

// Missing are runs that are not recorded in a profile's folder, by experiment and seed, of studies that were begun: seeds that
// another experiment of the study has.
func Missing(profileFolder string) (missing []string, err error) {
	groups, err := Collect(profileFolder)
	if err != nil {
		return nil, err
	}
	for _, study := range experiments.Studies {
		var seeds []int
		for _, e := range study.Experiments {
			for _, result := range Latest(groups, e.Name) {
				if !slices.Contains(seeds, result.Run.Seed) {
					seeds = append(seeds, result.Run.Seed)
				}
			}
		}
		slices.Sort(seeds)
		for _, e := range study.Experiments {
			for _, seed := range seeds {
				if !slices.ContainsFunc(Latest(groups, e.Name), func(r train.Result) bool { return r.Run.Seed == seed }) {
					missing = append(missing, fmt.Sprintf("%s, seed %d", e.Name, seed))
				}
			}
		}
	}
	return missing, nil
}
