package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ebsscgo/experiments"
	"ebsscgo/internal/train"
)

// RunsFolder is the folder of recorded runs in a profile's results.
const RunsFolder = "runs"

// Group are finished runs that differ in their seed alone, in the order of their seeds.
type Group []train.Result

// asked is when one of them was last asked for.
func (g Group) asked() (last time.Time) {
	for _, result := range g {
		if result.Asked.After(last) {
			last = result.Asked
		}
	}
	return last
}

// Of says whether a run differs from those of the group in its seed alone.
func (g Group) Of(run experiments.Run) (bool, error) {
	ours, err := butForSeed(g[0].Run)
	if err != nil {
		return false, err
	}
	other, err := butForSeed(run)
	return ours == other, err
}

// butForSeed describes all of a run but its seed.
func butForSeed(run experiments.Run) (string, error) {
	run.Seed = 0
	text, err := json.Marshal(run)
	if err != nil {
		return "", fmt.Errorf("describing a run of %s: %w", run.Experiment, err)
	}
	return string(text), nil
}

// Collect reads all finished runs below a profile's results folder, grouped, the group that was last asked for at the end.
func Collect(profileFolder string) ([]Group, error) {
	runs := filepath.Join(profileFolder, RunsFolder)
	entries, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading recorded runs: %w", err)
	}
	groups := map[string]Group{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		result, ok, err := train.Load(filepath.Join(runs, entry.Name()))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		key, err := butForSeed(result.Run)
		if err != nil {
			return nil, err
		}
		groups[key] = append(groups[key], result)
	}
	var all []Group
	for _, group := range groups {
		slices.SortFunc(group, func(a, b train.Result) int { return a.Run.Seed - b.Run.Seed })
		all = append(all, group)
	}
	slices.SortFunc(all, func(a, b Group) int {
		if order := a.asked().Compare(b.asked()); order != 0 {
			return order
		}
		return strings.Compare(a[0].ID, b[0].ID)
	})
	return all, nil
}

// Latest is the group of an experiment that was last asked for, of those measured on the test set; nil if there is none.
func Latest(groups []Group, experiment string) Group {
	for _, group := range slices.Backward(groups) {
		if group[0].Run.Experiment == experiment && group[0].Run.HeldOut == 0 {
			return group
		}
	}
	return nil
}
