package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ebsscgo/internal/cache"
)

// environment returns the Python interpreter of the peers' virtual environment, and creates it at the first use. It lies in the
// cache folder under a hash of its requirements, so other versions get another environment.
func environment(ctx context.Context, out io.Writer) (python string, err error) {
	text, err := sources.ReadFile("peers/requirements.txt")
	if err != nil {
		return "", err
	}
	requirements := strings.Fields(string(text))
	dir, err := cache.Dir()
	if err != nil {
		return "", err
	}
	unlock, err := cache.Lock(ctx, "bench")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	folder := filepath.Join(dir, fmt.Sprintf("bench-%.4x", sha256.Sum256(text)))
	python = filepath.Join(folder, "bin", "python")
	complete := filepath.Join(folder, "complete")
	if _, err := os.Stat(complete); err == nil {
		if _, err := output(ctx, python, "-c", ""); err == nil { // it breaks when its Python is upgraded
			return python, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := os.RemoveAll(folder); err != nil { // an interrupted installation, or a broken one
		return "", err
	}
	fmt.Fprintf(out, "installing %s in %s, once; several GB …\n", strings.Join(requirements, ", "), folder)
	if _, err := output(ctx, "python3", "-m", "venv", folder); err != nil {
		return "", fmt.Errorf("a virtual environment for the peers (Debian and Ubuntu: apt-get install python3-venv): %w", err)
	}
	install := []string{python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir"}
	if _, err := output(ctx, slices.Concat(install, requirements)...); err != nil {
		return "", fmt.Errorf("installing the peers (without them: --peers=): %w", err)
	}
	return python, os.WriteFile(complete, nil, 0o644)
}

// output runs a program and returns its standard output. Its error is the last line that the program wrote to its standard
// error, or the cause of ctx if that is done.
func output(ctx context.Context, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PYTHONSAFEPATH=1") // no file of the current folder as a module
	cmd.WaitDelay = 5 * time.Second
	text, err := cmd.Output()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &failed) && len(failed.Stderr) > 0:
		err = errors.New(cache.LastLine(string(failed.Stderr)))
	}
	return string(text), err
}
