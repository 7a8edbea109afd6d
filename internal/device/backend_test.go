package device

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
	"ebsscgo/internal/cache/cachetest"
)

// fake describes a machine for tests of the choice.
type fake struct {
	env       string            // $GOMLX_BACKEND
	found     map[string]string // plugins that go-xla finds
	gpu       bool
	cudaWheel string
	noNetwork bool // the CPU plugin cannot be installed
	broken    bool // a plugin that go-xla finds cannot be loaded
}

const (
	foundCPU     = "/lib/go-xla/pjrt_c_api_cpu_v0.114.0_plugin.so"
	foundCUDA    = "/lib/go-xla/nvidia/pjrt_c_api_cuda_plugin.so"
	wheelCUDA    = "/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so"
	installedCPU = "/home/nvidia/cache/libpjrt_cpu.so" // the folder's name must not make it a CUDA plugin
)

var errNoNetwork = errors.New("no network")

func (f fake) machine(t *testing.T) machine {
	t.Setenv(compute.ConfigEnvVar, f.env)
	return machine{
		plugins: func() (map[string]string, error) {
			if f.broken {
				return nil, errBrokenPlugin
			}
			return f.found, nil
		},
		gpu:       func(context.Context) bool { return f.gpu },
		cudaWheel: func(context.Context) (string, bool) { return f.cudaWheel, f.cudaWheel != "" },
		cpu:       fakeSource{f.noNetwork},
	}
}

// fakeSource provides a CPU plugin.
type fakeSource struct{ noNetwork bool }

func (s fakeSource) String() string { return "nobody downloads anything" }

func (s fakeSource) installed() (string, bool, error) { return installedCPU, !s.noNetwork, nil }

func (s fakeSource) install(context.Context) (string, error) {
	if s.noNetwork {
		return "", errNoNetwork
	}
	return installedCPU, nil
}

func TestResolve(t *testing.T) {
	cpu := map[string]string{"cpu_v0.114.0": foundCPU}
	both := map[string]string{"cpu_v0.114.0": foundCPU, "cuda": foundCUDA, "cpu": "/lib/plain_cpu.so", "mine": "/lib/mine.so"}
	for _, test := range []struct {
		name    string
		spec    string
		on      fake
		config  string
		as      string
		warning string
	}{
		{"nothing there: install", "", fake{}, "xla:" + installedCPU, "xla-cpu", ""},
		{"CPU plugin there", "", fake{found: cpu}, "xla:" + foundCPU, "xla-cpu", ""},
		{"nothing can be had", "", fake{noNetwork: true}, "go", "go", "100 times slower than XLA, because: no network"},
		{"GPU, its plugin where go-xla looks", "", fake{found: both, gpu: true, cudaWheel: wheelCUDA}, "xla:" + foundCUDA, "xla-cuda", ""},
		{"GPU, its plugin from pip", "", fake{found: cpu, gpu: true, cudaWheel: wheelCUDA}, "xla:" + wheelCUDA, "xla-cuda", ""},
		{"GPU without plugin", "", fake{found: cpu, gpu: true}, "xla:" + foundCPU, "xla-cpu", "although there is a GPU: no CUDA plugin"},
		{"CUDA plugin without GPU", "", fake{cudaWheel: wheelCUDA}, "xla:" + installedCPU, "xla-cpu", ""},

		{"environment", "", fake{env: "go", gpu: true, cudaWheel: wheelCUDA}, "go", "go", ""},
		{"argument before environment", "cpu", fake{env: "go"}, "xla:" + installedCPU, "xla-cpu", ""},
		{"argument before GPU", "cpu", fake{gpu: true, cudaWheel: wheelCUDA}, "xla:" + installedCPU, "xla-cpu", ""},
		{"GoMLX's options", "xla:cuda,tf32=false", fake{gpu: true, cudaWheel: wheelCUDA}, "xla:" + wheelCUDA + ",tf32=false", "xla-cuda-float32", ""},
		{"GoMLX's short options", "xla:cuda,notf32", fake{gpu: true, cudaWheel: wheelCUDA}, "xla:" + wheelCUDA + ",notf32", "xla-cuda-float32", ""},
		{"an option's usual value", "xla:cuda,tf32=true", fake{gpu: true, cudaWheel: wheelCUDA}, "xla:" + wheelCUDA + ",tf32=true", "xla-cuda", ""},
		{"options in the environment", "", fake{env: "stablehlo:cpu,a,b=c"}, "xla:" + installedCPU + ",a,b=c", "xla-cpu", ""},
		{"any plugin", "xla", fake{gpu: true, cudaWheel: wheelCUDA}, "xla:" + wheelCUDA, "xla-cuda", ""},
		{"exact name before version", "xla:cpu", fake{found: both}, "xla:/lib/plain_cpu.so", "xla-cpu", ""},
		{"another plugin", "xla:mine", fake{found: both}, "xla:/lib/mine.so", "xla", ""},
		{"a file", "xla:/dev/null", fake{}, "xla:/dev/null", "xla", ""},
		{"Go with options", "go:parallelism=1", fake{}, "go:parallelism=1", "go", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			choice, err := test.on.machine(t).resolve(t.Context(), test.spec)
			require.NoError(t, err)
			require.Equal(t, test.config, choice.Config)
			require.Equal(t, test.as, choice.Name)
			require.NotEmpty(t, choice.Why)
			require.Equal(t, strings.Contains(test.warning, "100 times slower"), choice.Fallback)
			if test.as == "go" {
				require.Empty(t, choice.Plugin)
			} else {
				require.True(t, strings.HasPrefix(choice.Config, "xla:"+choice.Plugin))
			}
			if test.warning == "" {
				require.Empty(t, choice.Warning)
			} else {
				require.Contains(t, choice.Warning, test.warning)
			}
		})
	}
}

// What was chosen is chosen again from its own configuration, as each job of several does, wherever its file lies.
func TestResolveAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "nvidia", "cuda")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	plugin := filepath.Join(folder, "libpjrt_cpu.so")
	require.NoError(t, os.WriteFile(plugin, nil, 0o644))
	choice, err := fake{}.machine(t).resolve(t.Context(), "xla:"+plugin)
	require.NoError(t, err)
	require.Equal(t, []string{"xla-cpu", "xla:" + plugin}, []string{choice.Name, choice.Config})
}

func TestResolveErrors(t *testing.T) {
	for _, test := range []struct {
		spec string
		on   fake
		want string
	}{
		{"cuda", fake{cudaWheel: wheelCUDA}, "no NVIDIA GPU"},
		{"cuda", fake{gpu: true}, "pip install"},
		{"xla:cuda,tf32=false", fake{}, "no NVIDIA GPU"},
		{"cpu", fake{noNetwork: true}, "no network"},
		{"xla", fake{noNetwork: true}, "no network"},
		{"", fake{env: "cuda"}, "$GOMLX_BACKEND"},
		{"tpu", fake{}, "unknown"},
		{"xla:tpu", fake{}, "no plugin of this name"},
		{"xla:/no/such/plugin.so", fake{}, "/no/such/plugin.so"},
	} {
		_, err := test.on.machine(t).resolve(t.Context(), test.spec)
		require.ErrorContains(t, err, test.want, test.spec)
		require.NotContains(t, err.Error(), "\n", test.spec)
	}
}

// A user who presses Ctrl-C during the download of the plugin does not want the Go backend.
func TestResolveCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := fake{noNetwork: true}.machine(t).resolve(ctx, "")
	require.ErrorIs(t, err, errNoNetwork)
}

// Nothing is written to standard error before main: one line that says what to do follows.
func TestQuietWithoutHome(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.list=^$")
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "HOME=") && !strings.HasPrefix(variable, "PJRT_PLUGIN_LIBRARY_PATH=") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Run())
	require.Empty(t, stderr.String())
}

func TestOpen(t *testing.T) {
	for _, spec := range []string{"cpu", "go"} {
		t.Run(spec, func(t *testing.T) {
			opened, choice, err := Open(t.Context(), spec, 1)
			require.NoError(t, err)
			defer opened.Finalize()
			require.Equal(t, strings.TrimPrefix(choice.Name, "xla-"), spec)

			sum := MustNewExec(opened, func(image, kernel *Node) *Node {
				return ReduceAllSum(Convolve(image, kernel).PadSame().Done())
			})
			image := [][][][]float32{{{{1}, {2}, {3}}, {{4}, {5}, {6}}, {{7}, {8}, {9}}}}
			ones := [][][][]float32{{{{1}}, {{1}}, {{1}}}, {{{1}}, {{1}}, {{1}}}, {{{1}}, {{1}}, {{1}}}}
			// Corners are seen by 4 of the 9 positions, edges by 6, the centre by all.
			require.Equal(t, float32(4*(1+3+7+9)+6*(2+4+6+8)+9*5), sum.MustExec(image, ones)[0].Value())
		})
	}
}

// XLA on the CPU makes as many devices as needed, more than the plugin's default; other backends have those of the machine.
func TestOpenDevices(t *testing.T) {
	opened, _, err := Open(t.Context(), "cpu", 6)
	require.NoError(t, err)
	defer opened.Finalize()
	require.EqualValues(t, 6, opened.NumDevices())

	_, _, err = Open(t.Context(), "go", 2)
	require.ErrorContains(t, err, "backend go has fewer than 2 devices: ask for at most 1 with --devices")
	require.NotContains(t, err.Error(), "\n")
}

func TestOpenErrors(t *testing.T) {
	for spec, want := range map[string]string{
		"xla:/dev/null":   "does not start",
		"xla:cpu,bad=yes": "unknown plugin options",
		"go:bad=yes":      "does not start",
		"nonsense":        "unknown",
	} {
		_, _, err := Open(t.Context(), spec, 1)
		require.ErrorContains(t, err, want, spec)
		require.NotContains(t, err.Error(), "\n", spec)
	}
}

// A broken plugin is an error that says what to do: nothing takes the place of a good one for it.
func TestResolveBesideBrokenPlugin(t *testing.T) {
	for _, spec := range []string{"", "cpu", "cuda"} {
		_, err := fake{broken: true, gpu: true}.machine(t).resolve(t.Context(), spec)
		require.ErrorContains(t, err, "cannot be loaded; remove it", spec)
	}
}

func TestFindCUDAWheel(t *testing.T) {
	packages := t.TempDir()
	t.Setenv("PYTHONPATH", packages)
	add := func(name string) string {
		path := filepath.Join(packages, "jax_plugins", name, "xla_cuda_plugin.so")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		return path
	}
	for _, name := range []string{"xla_cuda12", "xla_cuda13"} { // the newer one goes first
		want := add(name)
		path, ok := findCUDAWheel(t.Context())
		require.True(t, ok)
		require.Equal(t, want, path)
	}
	// The current folder does not count.
	t.Setenv("PYTHONPATH", "")
	t.Chdir(packages)
	path, _ := findCUDAWheel(t.Context())
	require.NotContains(t, path, packages)
	t.Setenv("PATH", t.TempDir())
	_, ok := findCUDAWheel(t.Context())
	require.False(t, ok, "without Python")
}

// On a machine without anything, Diagnose says so and installs nothing.
func TestDiagnoseInstallsNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(cache.EnvVar, dir)
	t.Setenv("PATH", t.TempDir())
	found := Diagnose(t.Context())
	for _, f := range found {
		require.Contains(t, []Status{OK, Warn, Missing}, f.Status, f.What)
		require.NotEmpty(t, f.Detail, f.What)
		require.NotContains(t, f.Detail+f.Do, "\n", f.What)
	}
	status := func(what string) Status {
		i := slices.IndexFunc(found, func(f Finding) bool { return f.What == what })
		require.GreaterOrEqual(t, i, 0, what)
		return found[i].Status
	}
	require.Equal(t, OK, status("Go backend"))
	require.Equal(t, Missing, status("Python and pip"))
	require.Equal(t, OK, status("cache folder"))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestDiagnoseBadCache(t *testing.T) {
	t.Setenv(cache.EnvVar, "/dev/null/cache")
	require.Equal(t, Missing, cacheFolder().Status)

	readOnly := cachetest.Disk(t, 64)
	cachetest.ReadOnly(t, readOnly)
	t.Setenv(cache.EnvVar, readOnly)
	require.Equal(t, Warn, cacheFolder().Status)
	require.Contains(t, cacheFolder().Detail, "read-only")

	t.Setenv(cache.EnvVar, cachetest.Disk(t, 64))
	require.Equal(t, Warn, cacheFolder().Status)
	require.Contains(t, cacheFolder().Detail, "0 MiB free")
}

func TestDiagnoseFindsPlugin(t *testing.T) {
	_, err := Resolve(t.Context(), "cpu")
	require.NoError(t, err)
	f := thisMachine().cpuPlugin(t.Context())
	require.Equal(t, OK, f.Status, f.Detail)
	require.Contains(t, f.Detail, "PJRT API 0.")
}
