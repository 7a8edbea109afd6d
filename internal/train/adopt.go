package train

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ebsscgo/internal/files"
)

// Same says whether another result of the same run says the same, but for when, how fast and by which commit it was got.
func (r Result) Same(other Result) bool {
	return r.ID == other.ID && r.TrainErr == other.TrainErr && r.TestErr == other.TestErr && r.TrainObjective == other.TrainObjective &&
		r.TestObjective == other.TestObjective && r.Predictions == other.Predictions && r.Labels == other.Labels
}

// Adopt copies the folder of a finished run. The result comes last: from then on the run is finished there, too.
func Adopt(from, to string) error {
	err := os.MkdirAll(to, 0o755)
	if err != nil {
		return fmt.Errorf("a folder for run %s: %w", filepath.Base(from), err)
	}
	unlock, err := lock(to)
	if err != nil {
		return err
	}
	defer unlock()
	copyFile := func(name string) error {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		return files.Write(filepath.Join(to, name), content)
	}
	err = filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil || name == resultFile || name == lockFile {
			return err
		}
		return copyFile(name)
	})
	if err == nil {
		err = copyFile(resultFile)
	}
	if err != nil {
		return fmt.Errorf("copying run %s: %w", filepath.Base(from), err)
	}
	return nil
}
