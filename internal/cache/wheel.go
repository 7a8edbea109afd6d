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
	file, err := LoadOrMake(ctx, "wheels", f.MemberSHA256, f.intact, func(dir string) error { return f.install(ctx, dir) })
	if err != nil {
		return "", err
	}
	return file, checkOwners(file)
}

// ErrMissing is the error of [Installed] for a file that [Fetch] would install.
var ErrMissing = errors.New("not installed yet")

// Installed is [Fetch], but it installs nothing.
func Installed(f WheelFile) (file string, err error) {
	dir, err := Locate()
	if err != nil {
		return "", err
	}
	if file = f.intact(filepath.Join(dir, "wheels", f.MemberSHA256)); file != "" {
		return file, checkOwners(file)
	}
	if _, err = Dir(); err == nil {
		err = ErrMissing
	}
	return "", err
}

// intact returns the path of f in a folder, or nothing unless the file has the pinned SHA-256. A file that cannot be read is installed again,
// whatever the reason.
func (f WheelFile) intact(folder string) string {
	file := filepath.Join(folder, path.Base(f.Member))
	in, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil || hex.EncodeToString(h.Sum(nil)) != f.MemberSHA256 {
		return ""
	}
	return file
}

// install downloads and unpacks f in a temporary folder, and then renames the finished folder. The caller holds the lock.
func (f WheelFile) install(ctx context.Context, dir string) error {
	fmt.Fprintf(os.Stderr, "installing %s from %s into %s (once)\n", path.Base(f.Member), f.Requirement, dir)
	tmp := dir + ".tmp"
	defer os.RemoveAll(tmp)
	ready := filepath.Join(tmp, "ready")
	if err := errors.Join(os.RemoveAll(tmp), os.MkdirAll(ready, 0o755)); err != nil {
		return err
	}
	wheel, err := download(ctx, f, tmp)
	if err != nil {
		return fmt.Errorf("downloading %s: %w", f.Requirement, err)
	}
	if err := f.unpack(wheel, ready); err != nil {
		return fmt.Errorf("unpacking %s: %w", f.Requirement, err)
	}
	// A folder can only replace an empty one, and a damaged installation may be in its place.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(ready, dir)
}

// unpack writes the member of a wheel to a folder and verifies its SHA-256. Names in the wheel never become paths.
func (f WheelFile) unpack(wheel, folder string) error {
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
	out, err := os.Create(filepath.Join(folder, path.Base(f.Member)))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(member, maxMemberSize))
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if f.intact(folder) == "" {
		return fmt.Errorf("%s has another SHA-256 than %s; nothing was installed", f.Member, f.MemberSHA256)
	}
	return nil
}
