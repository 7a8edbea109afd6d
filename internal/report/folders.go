package report

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// Folders returns the folders in results of the profile of that name, or of all profiles for an
// empty name, each with its profile: "quick", or "quick-mnist32" for another data set.
func Folders(results, name string) (map[string]experiments.Profile, error) {
	if results == "" {
		return nil, errors.New("--results is empty: name a folder")
	}
	if _, err := os.Stat(filepath.Join(results, record.Folder)); err == nil {
		return nil,
			fmt.Errorf("%s is the folder of one profile: name the folder that it lies in with --results",
				results)
	}
	entries, err := safefile.ReadDir(results)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading results: %w; name another folder with --results", err)
	}
	folders := map[string]experiments.Profile{}
	for _, entry := range entries {
		profileName, _, _ := strings.Cut(entry.Name(), "-")
		profile, unknown := experiments.FindProfile(profileName)
		// also of a folder that lies elsewhere
		info, missing := os.Stat(filepath.Join(results, entry.Name()))
		if unknown == nil && missing == nil && info.IsDir() && (name == "" || name == profileName) {
			folders[entry.Name()] = profile
		}
	}
	return folders, nil
}

// LoadAll reads and verifies the records in [Folders].
func LoadAll(results, name string) (all []*Results, err error) {
	folders, err := Folders(results, name)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		p, err := Load(results, folder, folders[folder])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, err
}
