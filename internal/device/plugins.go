package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"ebsscgo/internal/cache"
)

// cpuWheels are the pinned CPU plugins by system, which is GOOS/GOARCH.
var cpuWheels = map[string]cache.WheelFile{
	// 273,768,800 bytes, PJRT API 0.106: an unmodified build of zml/pjrt-artifacts.
	"linux/amd64": {
		Requirement:  "fastatomstruct-xla-cpu==2026.6.23",
		WheelSHA256:  "88b1c430b341b4bea40a37420311c9c75db6e22b46d2ff95b6986577bee6afe9",
		Member:       "fastatomstruct_xla_cpu/libpjrt_cpu.so",
		MemberSHA256: "0a0fe56ca17be9efc7b942e89e534e5e0ad4a0f1e369b66d27b62184509015b9",
		Room:         340 << 20,
	},
	// 200,328,224 bytes, PJRT API 0.81: of a package that names the OpenXLA authors.
	"linux/arm64": {
		Requirement:  "xla-cpu-pjrt==0.0.1",
		WheelSHA256:  "8f613be6e891858f40d64f9799319502fff42689661944fc18a6ffd8210b30c9",
		Member:       "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
		MemberSHA256: "fcf411f3e8ff635c2b2cf87215aa7016f460e66d236c3db08309e7486583532d",
		Room:         260 << 20,
	},
}

const thisSystem = runtime.GOOS + "/" + runtime.GOARCH

// thisMachine returns the machine that the program runs on. It opens the pinned CPU plugin by get,
// which is [cache.Fetch] or [cache.Installed].
func thisMachine(get func(context.Context, cache.WheelFile) (*os.File, error)) machine {
	cpuPlugin := func(ctx context.Context) (*os.File, error) {
		wheel, ok := cpuWheels[thisSystem]
		if !ok {
			return nil, errors.New("no XLA CPU plugin is known for " + thisSystem + ": get one from " +
				"https://github.com/gomlx/pjrt-cpu-binaries/releases or elsewhere, and give its " +
				"path, --backend xla:/path/plugin.so")
		}
		file, err := get(ctx, wheel)
		if err != nil {
			return nil, fmt.Errorf("no XLA CPU plugin: %w; --backend go computes without one, "+
				"about 100 times slower", err)
		}
		return file, nil
	}
	return machine{gpu: hasGPU, cudaPlugin: findCUDAPlugin, cpuPlugin: cpuPlugin}
}

const installCUDA = `run: python3 -m pip install "jax[cuda13]" (or jax[cuda12] for an older driver)`

// listCUDAPlugins prints the CUDA plugins of Python's packages, newest first.
const listCUDAPlugins = `
import importlib.util, os
spec = importlib.util.find_spec("jax_plugins")
for name in "xla_cuda13", "xla_cuda12":
    for folder in spec.submodule_search_locations if spec else ():
        path = os.path.join(folder, name, "xla_cuda_plugin.so")
        if os.path.exists(path):
            print(os.path.abspath(path))
`

// findCUDAPlugin returns the path of the CUDA plugin that pip installed for the python3 on the
// PATH.
func findCUDAPlugin(ctx context.Context) (path string, err error) {
	if path = ask(ctx, cache.Python(listCUDAPlugins)...); path == "" {
		err = errors.New("no CUDA plugin; " + installCUDA)
	}
	return path, err
}

// prepareCUDA sets the environment variables with which the CUDA plugin of a choice starts. It must
// be called before the plugin compiles anything: XLA reads its flags once. The user's own settings
// take precedence.
func prepareCUDA(choice Choice) {
	if filepath.Base(choice.Plugin) == "xla_cuda_plugin.so" {
		// go-xla warns about the layout of pip's packages, which it does not know.
		os.Setenv("GOPJRT_CUDA_CHECKS", "no")
	}
	// pip installs the CUDA tools and device library in site-packages/nvidia/cu13 (or cuda_nvcc),
	// where XLA does not look, for site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so.
	for _, tools := range []string{"cu13", "cuda_nvcc"} {
		folder := filepath.Join(filepath.Dir(choice.Plugin), "..", "..", "nvidia", tools)
		_, err := os.Stat(filepath.Join(folder, "nvvm", "libdevice", "libdevice.10.bc"))
		if err == nil {
			addFlag("--xla_gpu_cuda_data_dir", folder) // fails where the user's flags are in a file
		}
	}
	// GoMLX's option changes matrix products only: convolutions have XLA's default precision, TF32.
	// NVIDIA's libraries read this variable.
	const tf32 = "NVIDIA_TF32_OVERRIDE"
	if choice.Name == nameCUDAFloat32 && os.Getenv(tf32) == "" {
		os.Setenv(tf32, "0")
	}
}

// hasGPU reports whether the machine has an NVIDIA GPU: its device file, or nvidia-smi (WSL has no
// such file).
func hasGPU(ctx context.Context) bool {
	nodes, _ := filepath.Glob("/dev/nvidia[0-9]*")
	return len(nodes) > 0 || nameGPU(ctx) != ""
}

// nameGPU returns the name of the first NVIDIA GPU that nvidia-smi lists.
func nameGPU(ctx context.Context) string {
	return ask(ctx, "nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
}

// ask runs a program and returns the first line that it wrote to standard output, empty if it
// fails. It waits 20 seconds at most: nvidia-smi hangs when a driver does.
func ask(ctx context.Context, command ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second // for programs that it started
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(first)
}
