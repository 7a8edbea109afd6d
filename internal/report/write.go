package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// manifest lists the files that reports consist of, with their SHA-256, as sha256sum does.
const manifest = "manifest.txt"

// maxSize is the size in bytes of the largest file that is taken for a picture or for a report.
const maxSize = 16 << 20

// WriteAll loads the records of folders of results, each of a profile, and writes all their
// reports: README.md, CSV files and figures, and a manifest of them. They follow from the records
// and the pictures of decodings alone: the same give the same bytes. Everything is made in memory
// first, so that a damaged record leaves all files as they are. Files of an earlier manifest that
// no record supports any more are removed, and no others. It waits while another process writes the
// same reports, until ctx ends. [WriteAnswer] writes the project's own README.
func WriteAll(ctx context.Context, results string, folders map[string]experiments.Profile) (
	written map[string]*Results, err error) {
	written, files := map[string]*Results{}, map[string]map[string][]byte{}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		runs := filepath.Join(results, folder, record.Folder)
		// Without the lock the slower of two could write reports that lack a record which the other has
		// seen.
		lock, unlocked := safefile.Lock(ctx, filepath.Join(runs, "report.lock"))
		switch {
		case unlocked == nil:
			defer lock.Close()
		case ctx.Err() != nil:
			return nil, fmt.Errorf("reports in %s, which another process writes: %w", runs, unlocked)
		case !errors.Is(unlocked, fs.ErrNotExist):
			return nil, fmt.Errorf("locking the reports in %s: %w; remove it, or give another "+
				"folder with --results", runs, unlocked)
		}
		if written[folder], err = Load(results, folder, folders[folder]); err != nil {
			return nil, err
		}
		if unlocked != nil {
			continue // without records what lies there, if anything does, is not ours
		}
		if files[folder], err = written[folder].files(); err != nil {
			return nil, err
		}
	}
	for folder, content := range files {
		p := written[folder]
		if err := p.removeOthers(content); err != nil {
			return nil, err
		}
		for name, text := range content {
			if err := replace(filepath.Join(p.Folder, filepath.FromSlash(name)), text); err != nil {
				return nil, err
			}
		}
	}
	return written, nil
}

// replace writes a file in one step, unless it has the content already.
func replace(path string, content []byte) error {
	if old, err := safefile.Read(path, maxSize); err == nil && bytes.Equal(old, content) {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = safefile.RemoveUnfinished(filepath.Dir(path), filepath.Base(path))
	}
	if err == nil {
		err = safefile.Write(path, content)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// removeOthers removes the files that the manifest lists and that are not among those written. It
// leaves what is not in the folder itself or in that of figures, what is no plain file, and what
// someone has changed. A manifest that cannot be read lists nothing.
func (p *Results) removeOthers(files map[string][]byte) error {
	listed, _ := safefile.Read(filepath.Join(p.Folder, manifest), maxSize)
	root, err := os.OpenRoot(p.Folder) // which no path or link leaves
	if err != nil {
		return fmt.Errorf("looking for reports without records: %w", err)
	}
	defer root.Close()
	if len(files) == 0 { // the manifest goes, too
		listed = fmt.Appendf(listed, "%s  %s\n", safefile.Sum(listed), manifest)
	}
	for line := range strings.Lines(string(listed)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		folder, _ := path.Split(name)
		if _, written := files[name]; written || folder != "" && folder != record.FiguresFolder+"/" {
			continue
		}
		info, err := root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if content, err := safefile.Read(filepath.Join(p.Folder, name), maxSize); err != nil ||
			safefile.Sum(content) != sum {
			continue
		}
		if err := root.Remove(name); err != nil {
			return fmt.Errorf("removing a report without records: %w", err)
		}
	}
	return nil
}
