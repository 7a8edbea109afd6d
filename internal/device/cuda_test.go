package device

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
)

// gpuMachine makes the PATH one folder with an nvidia-smi that lists one GPU, and gives the linker a driver's library.
func gpuMachine(t *testing.T, gpu string) {
	programs, driver := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\necho '" + gpu + "'\n"
	require.NoError(t, os.WriteFile(filepath.Join(programs, "nvidia-smi"), []byte(script), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(driver, "libcuda.so.1"), nil, 0o644))
	t.Setenv("PATH", programs)
	t.Setenv("LD_LIBRARY_PATH", driver)
	for _, name := range []string{xlaFlags, tf32Override, goXLAChecks} {
		t.Setenv(name, "")
	}
	t.Setenv(cache.EnvVar, t.TempDir())
}

// pipPlugin makes a CUDA plugin where pip installs it, and files below site-packages/nvidia, all with that content.
func pipPlugin(t *testing.T, content string, files ...string) (plugin string) {
	packages := t.TempDir()
	plugin = filepath.Join(packages, "jax_plugins", "xla_cuda13", wheelPlugin)
	for _, file := range append([]string{plugin}, files...) {
		if file != plugin {
			file = filepath.Join(packages, "nvidia", file)
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	}
	return plugin
}

const allFlags = "\x00xla_gpu_per_fusion_autotune_cache_dir\x00xla_gpu_kernel_cache_file\x00"

// allPieces are NVIDIA's files as pip installs those for CUDA 13.
var allPieces = []string{
	"cu13/lib/libcudart.so.13", "cu13/lib/libcublas.so.13", "cu13/lib/libcublasLt.so.13", "cudnn/lib/libcudnn.so.9",
	"cu13/bin/ptxas", "cu13/nvvm/libdevice/libdevice.10.bc",
}

func TestSetCUDAFolder(t *testing.T) {
	plugin := pipPlugin(t, "", allPieces...)
	tools := filepath.Join(nvidiaFolder(plugin), "cu13")
	for before, after := range map[string]string{
		"":                              "--xla_gpu_cuda_data_dir=" + tools,
		"--xla_a=":                      "--xla_a= --xla_gpu_cuda_data_dir=" + tools,
		"--xla_gpu_cuda_data_dir=/mine": "--xla_gpu_cuda_data_dir=/mine",
	} {
		t.Setenv(xlaFlags, before)
		t.Setenv(goXLAChecks, "")
		require.NoError(t, setCUDAFolder(plugin))
		require.Equal(t, after, os.Getenv(xlaFlags))
		require.Equal(t, "no", os.Getenv(goXLAChecks))
	}
	t.Setenv(xlaFlags, "")
	require.NoError(t, setCUDAFolder(pipPlugin(t, "", "cu13/lib/libcudart.so.13", "cu13/bin/ptxas")))
	require.Empty(t, os.Getenv(xlaFlags), "where pip installed libraries without the device library XLA looks elsewhere")
	require.NoError(t, setCUDAFolder(filepath.Join(t.TempDir(), "nvidia", "pjrt_c_api_cuda_plugin.so")))
	require.Empty(t, os.Getenv(xlaFlags), "go-xla's own layout is left to go-xla")
}

// Kernels are cached in the user's cache folder, separately for each GPU and plugin, and the user's flags take precedence.
func TestCUDACache(t *testing.T) {
	gpuMachine(t, "NVIDIA H200, 9.0")
	plugin := pipPlugin(t, allFlags, allPieces...)
	kernels := func() string {
		t.Setenv(xlaFlags, "")
		warning, err := prepareCUDA(t.Context(), Choice{Name: nameCUDA, Plugin: plugin})
		require.NoError(t, err)
		require.Empty(t, warning)
		for flag := range strings.FieldsSeq(os.Getenv(xlaFlags)) {
			if file, ok := strings.CutPrefix(flag, "--xla_gpu_kernel_cache_file="); ok {
				require.DirExists(t, filepath.Dir(file))
				return file
			}
		}
		t.Fatal("no kernels are kept")
		return ""
	}
	one := kernels()
	require.Equal(t, one, kernels())
	require.True(t, strings.HasPrefix(one, os.Getenv(cache.EnvVar)))
	require.Contains(t, os.Getenv(xlaFlags), "--xla_gpu_per_fusion_autotune_cache_dir="+filepath.Dir(one))

	home := os.Getenv(cache.EnvVar)
	gpuMachine(t, "NVIDIA A100, 8.0")
	t.Setenv(cache.EnvVar, home)
	require.NotEqual(t, one, kernels(), "kernels of another GPU")

	t.Setenv(xlaFlags, "--xla_gpu_kernel_cache_file=/mine")
	require.NoError(t, setCUDACache(t.Context(), plugin))
	require.Contains(t, os.Getenv(xlaFlags), "--xla_gpu_kernel_cache_file=/mine")
	require.Equal(t, 1, strings.Count(os.Getenv(xlaFlags), "kernel_cache_file"))
}

// Without a cache folder runs start more slowly, with a warning.
func TestNoCUDACache(t *testing.T) {
	warned := func(content string) string {
		warning, err := prepareCUDA(t.Context(), Choice{Name: nameCUDA, Plugin: pipPlugin(t, content, allPieces...)})
		require.NoError(t, err)
		require.NotContains(t, warning, "\n")
		require.NotContains(t, os.Getenv(xlaFlags), "cache")
		return warning
	}
	gpuMachine(t, "NVIDIA H200, 9.0")
	require.Contains(t, warned("a plugin of old"), "no flag xla_gpu_per_fusion_autotune_cache_dir")
	reserved := strings.ReplaceAll(allFlags, "\x00", "R") // XLA has given the flags up, and reserves their names
	require.Contains(t, warned(reserved), "no flag xla_gpu_per_fusion_autotune_cache_dir")
	t.Setenv(cache.EnvVar, "/dev/null/cache")
	require.Contains(t, warned(allFlags), cache.EnvVar)
	t.Setenv("PATH", t.TempDir())
	require.Contains(t, warned(allFlags), "nvidia-smi")
}

// "tf32=false" switches TF32 off for convolutions, too.
func TestTF32(t *testing.T) {
	gpuMachine(t, "NVIDIA H200, 9.0")
	plugin := pipPlugin(t, allFlags, allPieces...)
	for _, test := range []struct{ name, before, after string }{
		{nameCUDA, "", ""}, {nameCUDAFloat32, "", "0"}, {nameCUDAFloat32, "1", "1"},
	} {
		t.Setenv(tf32Override, test.before)
		_, err := prepareCUDA(t.Context(), Choice{Name: test.name, Plugin: plugin})
		require.NoError(t, err)
		require.Equal(t, test.after, os.Getenv(tf32Override))
	}
}

func TestMissingLibraries(t *testing.T) {
	gpuMachine(t, "NVIDIA H200, 9.0")
	const all = "libcudart.so, libcublas.so, libcublasLt.so, libcudnn.so, ptxas, libdevice.10.bc missing"
	if missing, _ := missingLibraries(t.Context(), pipPlugin(t, "")); !strings.HasPrefix(missing, all) {
		t.Skipf("CUDA is installed in this system: %s", missing)
	}
	for i, gone := range allPieces {
		rest := append(append([]string{}, allPieces[:i]...), allPieces[i+1:]...)
		missing, do := missingLibraries(t.Context(), pipPlugin(t, "", rest...))
		name, _, _ := strings.Cut(filepath.Base(gone), ".so.")
		require.True(t, strings.HasPrefix(missing, name), missing)
		require.Contains(t, do, "pip install")
		require.NotContains(t, missing+do, "\n")
	}
	missing, _ := missingLibraries(t.Context(), pipPlugin(t, "", allPieces...))
	require.Empty(t, missing)

	path := os.Getenv("PATH")
	withTools := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(withTools, "ptxas"), nil, 0o755))
	t.Setenv("PATH", path+string(filepath.ListSeparator)+withTools)
	missing, _ = missingLibraries(t.Context(), pipPlugin(t, "", slices.DeleteFunc(slices.Clone(allPieces), func(file string) bool { return filepath.Base(file) == "ptxas" })...))
	require.Empty(t, missing, "ptxas is on the PATH")
	t.Setenv("PATH", path)

	cuda12 := []string{
		"cuda_runtime/lib/libcudart.so.12", "cublas/lib/libcublas.so.12", "cublas/lib/libcublasLt.so.12", "cudnn/lib/libcudnn.so.9",
		"cuda_nvcc/bin/ptxas", "cuda_nvcc/nvvm/libdevice/libdevice.10.bc",
	}
	missing, _ = missingLibraries(t.Context(), pipPlugin(t, "", cuda12...))
	require.Empty(t, missing)

	t.Setenv("LD_LIBRARY_PATH", "")
	missing, do := missingLibraries(t.Context(), pipPlugin(t, "", allPieces...))
	if missing == "" {
		t.Skip("the NVIDIA driver is installed in this system")
	}
	require.Contains(t, missing, "driver")
	require.NotContains(t, do, "pip")
}
