package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ebsscgo/internal/cache"
)

// environment returns the Python interpreter of the peers' virtual environment, and makes it if there is none: it lies in
// the cache folder and is named by its requirements, so that other versions make another one.
func environment(ctx context.Context, out io.Writer) (python string, err error) {
	requirements, err := sources.ReadFile("peers/requirements.txt")
	if err != nil {
		return "", err
	}
	dir, err := cache.Dir()
	if err != nil {
		return "", err
	}
	unlock, err := cache.Lock(ctx, "bench")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	folder := filepath.Join(dir, fmt.Sprintf("bench-%.4x", sha256.Sum256(requirements)))
	python = filepath.Join(folder, "bin", "python")
	list := filepath.Join(folder, "requirements.txt")
	complete := filepath.Join(folder, "complete")
	if _, err := os.Stat(complete); err == nil {
		return python, nil
	}
	// What is there was interrupted.
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	fmt.Fprintf(out, "installing %s in %s, once; several GB …\n", strings.Join(strings.Fields(string(requirements)), ", "), folder)
	if err := command(ctx, "python3", "-m", "venv", folder); err != nil {
		return "", fmt.Errorf("a virtual environment for the peers (Debian and Ubuntu: apt-get install python3-venv): %w", err)
	}
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return "", err
	}
	if err := command(ctx, python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
		"--no-cache-dir", "-r", list); err != nil {
		return "", fmt.Errorf("installing the peers (without them: --peers=): %w", err)
	}
	return python, os.WriteFile(complete, nil, 0o644)
}

// command runs a program; its error is the last line that the program wrote.
func command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if text := strings.TrimSpace(output.String()); text != "" {
		return errors.New(text[strings.LastIndex(text, "\n")+1:])
	}
	return err
}
