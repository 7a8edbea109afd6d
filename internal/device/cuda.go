package device

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/internal/cache"
)

const (
	xlaFlags = "XLA_FLAGS"
	// tf32Override is read by NVIDIA's libraries.
	tf32Override = "NVIDIA_TF32_OVERRIDE"
	// goXLAChecks switches off go-xla's warning about the layout of pip's packages, which it does not know.
	goXLAChecks = "GOPJRT_CUDA_CHECKS"
)

// CUDA reports whether an NVIDIA GPU computes.
func (c Choice) CUDA() bool { return c.Name == nameCUDA || c.Name == nameCUDAFloat32 }

// GPU is the name of the GPU that computes, as nvidia-smi gives it; empty if none does, or if nvidia-smi fails.
func (c Choice) GPU() string {
	if !c.CUDA() {
		return ""
	}
	names, err := ask(context.Background(), "nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(names, "\n")
	return first
}

// cudaName is the name of a CUDA plugin with GoMLX's options, among them "tf32=false" and "notf32".
func cudaName(options string) string {
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		on, err := strconv.ParseBool(value)
		if name == "notf32" || name == "tf32" && err == nil && !on {
			return nameCUDAFloat32
		}
	}
	return nameCUDA
}

// prepareCUDA sets the environment variables with which the CUDA plugin of a choice starts, and returns what to warn of in one
// line. It must be called before the plugin compiles anything: XLA reads its flags once.
func prepareCUDA(ctx context.Context, choice Choice) (warning string, err error) {
	if err := setCUDAFolder(choice.Plugin); err != nil {
		return "", err
	}
	if choice.Name == nameCUDAFloat32 && os.Getenv(tf32Override) == "" {
		// GoMLX's option changes matrix products only: convolutions have XLA's default precision, TF32.
		if err := os.Setenv(tf32Override, "0"); err != nil {
			return "", err
		}
	}
	var warnings []string
	if missing, do := missingLibraries(ctx, choice.Plugin); missing != "" {
		warnings = append(warnings, missing+"; "+do)
	}
	if err := setCUDACache(ctx, choice.Plugin); err != nil {
		warnings = append(warnings, fmt.Sprintf("compiled programs are not cached for the next start: %v", err))
	}
	return strings.Join(warnings, "; "), nil
}

// setCUDAFolder tells XLA, by a flag, where pip installed the CUDA tools and device library: site-packages/nvidia/cu13 for
// site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so. go-xla does this for plugins in its own folder only, and warns about
// others. XLA finds tools that pip has not installed in other places by itself. The user's flags take precedence.
func setCUDAFolder(plugin string) error {
	if filepath.Base(plugin) != wheelPlugin {
		return nil
	}
	for _, tools := range []string{"cu13", "cuda_nvcc"} {
		folder := filepath.Join(nvidiaFolder(plugin), tools)
		if !isFile(filepath.Join(folder, "bin", "ptxas")) || !isFile(filepath.Join(folder, "nvvm", "libdevice", "libdevice.10.bc")) {
			continue
		}
		if err := addFlags("--xla_gpu_cuda_data_dir=" + folder); err != nil {
			return err
		}
		break
	}
	return os.Setenv(goXLAChecks, "no") // missingLibraries reports what go-xla would
}

// setCUDACache has XLA cache compiled kernels, and which variants of them were fastest, in the cache folder. The user's flags
// take precedence.
//
// Each plugin and GPU has its own folder: XLA's keys name neither its own version nor, for kernels, the GPU. Processes may share
// a folder: XLA replaces its files by renaming.
func setCUDACache(ctx context.Context, plugin string) error {
	info, err := os.Stat(plugin)
	if err != nil {
		return err
	}
	gpus, err := ask(ctx, "nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader")
	if err != nil {
		return err
	}
	dir, err := cache.Dir()
	if err != nil {
		return err
	}
	key := sha256.Sum256(fmt.Append(nil, info.Size(), info.ModTime().UnixNano(), gpus))
	folder := filepath.Join(dir, fmt.Sprintf("xla-cuda-%x", key[:5]))
	fastest := filepath.Join(folder, "autotune")
	if err := os.MkdirAll(fastest, 0o755); err != nil {
		return cache.Explain(err)
	}
	flags := []string{
		"--xla_gpu_per_fusion_autotune_cache_dir=" + fastest,
		"--xla_gpu_kernel_cache_file=" + filepath.Join(folder, "kernels"),
	}
	content, err := os.ReadFile(plugin)
	if err != nil {
		return err
	}
	for _, flag := range flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		if !hasFlag(content, name) { // XLA ends the program at a flag that it does not know
			return fmt.Errorf("%s has no flag %s; install a newer one", plugin, name)
		}
	}
	return addFlags(flags...)
}

// hasFlag says whether a plugin has a flag of that name: its name as a C string. Flags that XLA has given up are still in a plugin, among the
// reserved names of its options, but not as C strings.
func hasFlag(plugin []byte, name string) bool { return bytes.Contains(plugin, append([]byte(name), 0)) }

// isFile says whether a file, or a link to one, is there.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// addFlags adds flags, each "--name=value", to XLA's, except those that are set already.
func addFlags(flags ...string) error {
	all := os.Getenv(xlaFlags)
	for _, flag := range flags {
		name, _, _ := strings.Cut(flag, "=")
		if !strings.Contains(all+" ", name+"=") && !strings.Contains(all+" ", name+" ") {
			all = strings.TrimSpace(all + " " + flag)
		}
	}
	return os.Setenv(xlaFlags, all)
}

// wheelPlugin is the plugin's file in pip's packages.
const wheelPlugin = "xla_cuda_plugin.so"

// nvidiaFolder is where the plugin looks first for NVIDIA's libraries: site-packages/nvidia, or go-xla's own folder.
func nvidiaFolder(plugin string) string {
	folder := filepath.Dir(filepath.Dir(plugin))
	if filepath.Base(plugin) == wheelPlugin {
		folder = filepath.Dir(folder)
	}
	return filepath.Join(folder, "nvidia")
}

// needed are the files of NVIDIA's that XLA opens when it compiles and runs this project's networks, without versions.
var needed = []string{"libcudart.so", "libcublas.so", "libcublasLt.so", "libcudnn.so", "ptxas", "libdevice.10.bc"}

// missingLibraries names, in one line, the parts of CUDA that are neither beside the plugin nor in the system, and says how to
// install them; both are empty if nothing is missing. XLA reports them one at a time, some only when it compiles a network.
func missingLibraries(ctx context.Context, plugin string) (missing, do string) {
	linker, _ := ask(ctx, "/sbin/ldconfig", "-p") // empty on a system without it: $LD_LIBRARY_PATH counts then
	// XLA looks for ptxas in the folders of $PATH, too.
	folders := slices.Concat(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), filepath.SplitList(os.Getenv("PATH")))
	for _, root := range []string{nvidiaFolder(plugin), filepath.Join(nvidiaFolder(plugin), "*"), "/usr/local/cuda*", "/opt/cuda"} {
		for _, below := range []string{"lib", "bin", "nvvm/libdevice"} {
			folders = append(folders, filepath.Join(root, below))
		}
	}
	isMissing := func(file string) bool {
		return !strings.Contains(linker, file) && !slices.ContainsFunc(folders, func(folder string) bool {
			found, err := filepath.Glob(filepath.Join(folder, file+"*"))
			return err == nil && len(found) > 0
		})
	}
	if isMissing("libcuda.so.1") {
		return "libcuda.so.1 of the NVIDIA driver is missing", "install the driver, or give the container the host's"
	}
	files := slices.DeleteFunc(slices.Clone(needed), func(file string) bool { return !isMissing(file) })
	if len(files) == 0 {
		return "", ""
	}
	return strings.Join(files, ", ") + " missing for " + plugin, installCUDA
}
