package device

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gomlx/go-xla/pjrt"

	"ebsscgo/internal/cache"
)

// What to do about a missing plugin: for the CPU where none is known, and for CUDA.
const (
	provideCPU  = "put one that you trust into a folder that go-xla searches, or give its path: xla:/path/plugin.so"
	installCUDA = `run: python3 -m pip install "jax[cuda13]" (or jax[cuda12] for an older driver)`
)

// askTimeout limits how long other programs may take to answer; nvidia-smi hangs when a driver does.
const askTimeout = 20 * time.Second

// errBrokenPlugin says that go-xla finds a file which is no plugin: it fails then, whichever plugin is wanted.
var errBrokenPlugin = errors.New("a plugin in the folders that go-xla searches cannot be loaded; remove it, or set " +
	"PJRT_PLUGIN_LIBRARY_PATH to another folder")

// findPlugins returns the absolute paths of the plugins that go-xla finds, by name. It installs nothing.
func findPlugins() (map[string]string, error) {
	var found map[string]string
	err := try(func() error {
		found = pjrt.AvailablePlugins()
		return nil
	})
	if err != nil { // go-xla has written the plugin's name to standard error
		return nil, errBrokenPlugin
	}
	for name, path := range found {
		if found[name], err = filepath.Abs(path); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// hasGPU reports whether the machine has an NVIDIA GPU: its device file, or nvidia-smi (WSL has no such file).
func hasGPU(ctx context.Context) bool {
	nodes, err := filepath.Glob("/dev/nvidia[0-9]*")
	if err == nil && len(nodes) > 0 {
		return true
	}
	listed, err := ask(ctx, "nvidia-smi", "-L")
	return err == nil && strings.HasPrefix(listed, "GPU ")
}

// listCUDAWheels prints the CUDA plugins of Python's packages, newest first.
const listCUDAWheels = `
import importlib.util, os
spec = importlib.util.find_spec("jax_plugins")
for name in "xla_cuda13", "xla_cuda12":
    for folder in spec.submodule_search_locations if spec else ():
        path = os.path.join(folder, name, "xla_cuda_plugin.so")
        if os.path.exists(path):
            print(os.path.abspath(path))
`

// findCUDAWheel returns the path of the CUDA plugin that pip installed for the python3 on the PATH, if any.
func findCUDAWheel(ctx context.Context) (path string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	listed, err := output(cache.Python(ctx, listCUDAWheels))
	path, _, _ = strings.Cut(listed, "\n")
	return path, err == nil && path != ""
}

// ask runs a program and returns what it wrote to standard output, trimmed. The error is one line.
func ask(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return output(exec.CommandContext(ctx, program, args...))
}

// output is ask for a command.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, cache.LastLine(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
