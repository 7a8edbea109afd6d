package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
	"ebsscgo/internal/cache/cachetest"
	"ebsscgo/internal/filetest"
)

// The plugins of a fake machine; a folder's name must not make the second one a CUDA plugin.
var wheelCUDA, installedCPU string

func TestMain(m *testing.M) {
	if os.Getenv("TEST_HUGE_PAGES") != "" {
		restart()
		return
	}
	if spec, ok := os.LookupEnv("TEST_OPEN"); ok {
		_, _, err := Open(context.Background(), spec)
		fmt.Println(err)
		return
	}
	folder, err := os.MkdirTemp("", "nvidia-*")
	wheelCUDA = filepath.Join(folder, "xla_cuda_plugin.so")
	installedCPU = filepath.Join(folder, "libpjrt_cpu.so")
	err = errors.Join(err, os.WriteFile(wheelCUDA, nil, 0o644), os.WriteFile(installedCPU, nil, 0o644))
	if err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// fake describes a machine for tests of the choice.
type fake struct {
	env       string // $GOMLX_BACKEND
	gpu       bool
	cuda      string // CUDA plugin
	noNetwork bool   // the CPU plugin cannot be installed
}

func (f fake) machine(t *testing.T) machine {
	t.Setenv(compute.ConfigEnvVar, f.env)
	return machine{
		gpu: func(context.Context) bool { return f.gpu },
		cudaPlugin: func(context.Context) (string, error) {
			if f.cuda == "" {
				return "", errors.New("no CUDA plugin; " + installCUDA)
			}
			return f.cuda, nil
		},
		cpuPlugin: func(context.Context) (*os.File, error) {
			if f.noNetwork {
				return nil, errors.New("no network")
			}
			return os.Open(installedCPU)
		},
	}
}

func TestResolve(t *testing.T) {
	for _, test := range []struct {
		name, spec          string
		on                  fake
		config, as, warning string
	}{
		{"the CPU plugin", "", fake{}, "xla:" + installedCPU, "xla-cpu", ""},
		{"GPU with its plugin", "", fake{gpu: true, cuda: wheelCUDA}, "xla:" + wheelCUDA, "xla-cuda", ""},
		{"GPU without plugin", "", fake{gpu: true}, "xla:" + installedCPU, "xla-cpu",
			"although there is a GPU: no CUDA plugin"},

		{"environment", "", fake{env: "go", gpu: true, cuda: wheelCUDA}, "go", "go", ""},
		{"argument before environment", "cpu", fake{env: "go"}, "xla:" + installedCPU, "xla-cpu", ""},
		{"GoMLX's options", "xla:cuda,tf32=false", fake{gpu: true, cuda: wheelCUDA},
			"xla:" + wheelCUDA + ",tf32=false", "xla-cuda-float32", ""},
		{"options in the environment", "", fake{env: "xla:cpu,a,b=c"}, "xla:" + installedCPU + ",a,b=c",
			"xla-cpu", ""},
		{"chosen again, as each of several jobs does", "xla:" + installedCPU, fake{},
			"xla:" + installedCPU, "xla-cpu", ""},
		{"a file", "xla:/etc/passwd,a=b", fake{}, "xla:/etc/passwd,a=b", "xla", ""},
		{"Go with options", "go:parallelism=1", fake{}, "go:parallelism=1", "go", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			choice, err := test.on.machine(t).resolve(t.Context(), test.spec)
			require.NoError(t, err)
			require.Equal(t, test.config, choice.Config)
			require.Equal(t, test.as, choice.Name)
			require.NotEmpty(t, choice.Why)
			require.Equal(t, test.as == "go", choice.Plugin == "")
			require.True(t, strings.HasPrefix(choice.Config+"xla:", "xla:"+choice.Plugin) || test.as == "go")
			require.Equal(t, test.warning == "", choice.Warning == "")
			require.Contains(t, choice.Warning, test.warning)
		})
	}
}

func TestResolveErrors(t *testing.T) {
	for _, test := range []struct {
		spec string
		on   fake
		want string
	}{
		{"cuda", fake{cuda: wheelCUDA}, "no NVIDIA GPU"},
		{"cuda", fake{gpu: true}, "pip install"},
		{"xla:cuda,tf32=false", fake{}, "no NVIDIA GPU"},
		{"cpu", fake{noNetwork: true}, "no network"},
		{"", fake{noNetwork: true}, "no network"},
		{"xla:cpu,help", fake{}, "unknown"},
		{"xla", fake{}, "unknown"},
		{"", fake{env: "cuda"}, "$GOMLX_BACKEND"},
		{"tpu", fake{}, "unknown"},
		{"xla:tpu", fake{}, "no plugin of this name"},
		{"xla:plugin.so", fake{}, "absolute path"},
		{"xla:/dev/zero", fake{}, "no regular file"},
		{"xla:/no/such/plugin.so", fake{}, "/no/such/plugin.so"},
	} {
		_, err := test.on.machine(t).resolve(t.Context(), test.spec)
		require.ErrorContains(t, err, test.want, test.spec)
		require.NotContains(t, err.Error(), "\n", test.spec)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	choice, err := fake{noNetwork: true, gpu: true}.machine(t).resolve(t.Context(), "")
	require.ErrorContains(t, err, "no network")
	require.Contains(t, choice.Warning, "pip install", "also before the CPU's plugin is here")
	_, err = fake{noNetwork: true}.machine(t).resolve(ctx, "")
	require.ErrorIs(t, err, context.Canceled)
}

// Backends compute.
func TestOpen(t *testing.T) {
	t.Setenv(xlaFlags, "")
	for _, spec := range []string{"cpu", "go"} {
		opened, choice, err := Open(t.Context(), spec)
		require.NoError(t, err)
		require.Equal(t, strings.TrimPrefix(choice.Name, "xla-"), spec)
		sum := MustNewExec(opened, func(x *Node) *Node { return ReduceAllSum(x) })
		require.Equal(t, float32(6), sum.MustExec([]float32{1, 2, 3})[0].Value())
		opened.Finalize()
	}
	wide := strings.Contains(os.Getenv(xlaFlags), "--xla_cpu_prefer_vector_width=512")
	require.Equal(t, computesWide(), wide)
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"xla:/etc/passwd", "does not start"}, {"xla:cpu,bad=yes", "unknown plugin options"},
		{"go:bad=yes", "does not start"},
		{"nonsense", "unknown"},
	} {
		_, _, err := Open(t.Context(), c.spec)
		require.ErrorContains(t, err, c.want, c.spec)
		require.NotContains(t, err.Error(), "\n", c.spec)
	}
}

// A flag that XLA refuses is named in a line, before anything starts; XLA itself would end the
// process. Flags that it knows do no harm.
func TestXLAFlags(t *testing.T) {
	for flags, refused := range map[string]string{
		"--xla_cpu_enable_fast_math=false":               "",
		"--xla_cpu_enable_fast_math=false --xla_bogus=1": "--xla_bogus=1",
		"--xla_cpu_multi_thread_eigen=maybe":             "--xla_cpu_multi_thread_eigen=maybe",
		"/no/such/file":                                  "/no/such/file",
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TEST_OPEN=cpu", xlaFlags+"="+flags)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		want := "<nil>\n"
		if refused != "" {
			want = fmt.Sprintf("XLA_FLAGS has %q, which this XLA does not know or cannot read: "+
				"take it out, or unset XLA_FLAGS\n", refused)
		}
		require.Equal(t, want, string(out))
	}
}

// A GPU that is found and does not start, as under an old driver, leaves the CPU, with a warning.
// Who asks for it gets an error.
func TestOpenWithoutUsableGPU(t *testing.T) {
	m := fake{gpu: true, cuda: wheelCUDA}.machine(t) // an empty file
	m.cpuPlugin = thisMachine(cache.Fetch).cpuPlugin
	opened, choice, err := m.open(t.Context(), "")
	require.NoError(t, err)
	opened.Finalize()
	require.Equal(t, nameCPU, choice.Name)
	require.Contains(t, choice.Warning, "the CPU will compute although there is a GPU: ")
	require.NotContains(t, choice.Warning, "\n")
	for _, spec := range []string{"cuda", "xla:" + wheelCUDA} {
		_, _, err = m.open(t.Context(), spec)
		require.ErrorContains(t, err, "does not start", spec)
	}
	m.cpuPlugin = func(context.Context) (*os.File, error) { return nil, cache.ErrMissing }
	_, choice, err = m.open(t.Context(), "")
	require.ErrorIs(t, err, cache.ErrMissing)
	require.Contains(t, choice.Warning, "although there is a GPU", "before the CPU's is installed")
}

// A plugin on a disk that is mounted noexec is an error that names the mount and the variable.
func TestOpenFromNoexec(t *testing.T) {
	disk := cachetest.Disk(t, 256)
	folder := filepath.Join(disk, "wheels")
	require.NoError(t, os.Mkdir(folder, 0o755))
	plugin := filepath.Join(folder, "libpjrt_cpu.so")
	out, err := exec.Command("cc", "-shared", "-o", plugin, "-x", "c", os.DevNull).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, noexec(plugin))
	require.NoError(t, exec.Command("mount", "-o", "remount,noexec", disk).Run())
	file, err := os.Open(plugin)
	require.NoError(t, err)
	defer file.Close()
	m := fake{}.machine(t)
	m.cpuPlugin = func(context.Context) (*os.File, error) { return file, nil }
	_, _, err = m.open(t.Context(), "")
	require.ErrorContains(t, err, "mounted noexec: that at "+disk+" is mounted so; set "+cache.EnvVar)
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "--backend")
	_, _, err = m.open(t.Context(), "xla:"+plugin)
	require.ErrorContains(t, err, "that at "+disk+" is mounted so; move it to another disk")
}

func TestFindCUDAPlugin(t *testing.T) {
	packages := t.TempDir()
	t.Setenv("PYTHONPATH", packages)
	add := func(name string) string {
		path := filepath.Join(packages, "jax_plugins", name, "xla_cuda_plugin.so")
		filetest.Write(t, path, "")
		return path
	}
	for _, name := range []string{"xla_cuda12", "xla_cuda13"} { // the newer one goes first
		want := add(name)
		path, err := findCUDAPlugin(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, path)
	}
	// The current folder does not count.
	t.Setenv("PYTHONPATH", "")
	t.Chdir(packages)
	path, _ := findCUDAPlugin(t.Context())
	require.NotContains(t, path, packages)
	t.Setenv("PATH", t.TempDir())
	_, err := findCUDAPlugin(t.Context())
	require.ErrorContains(t, err, "pip install", "without Python")
}

// named gives the pinned CPU plugin another name, in a folder of the same disk or as a copy.
func named(t *testing.T, name string) (path string) {
	installed, err := Resolve(t.Context(), "cpu")
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), name)
	if os.Link(installed.Plugin, path) != nil {
		copied, err := os.Create(path)
		require.NoError(t, err)
		_, err = io.Copy(copied, installed.file)
		require.NoError(t, errors.Join(err, copied.Close()))
	}
	return path
}

// A CPU plugin is one under any name, as a file and as a link, and is found so again from its
// configuration.
func TestOpenCPUPluginByPath(t *testing.T) {
	plugin := named(t, "plugin.so")
	link := filepath.Join(t.TempDir(), "link.so")
	require.NoError(t, os.Symlink(plugin, link))
	t.Setenv(cache.EnvVar, "/dev/null/cache") // is not needed
	for _, spec := range []string{"xla:" + plugin, "xla:" + link + ",shared_buffers"} {
		for range 2 {
			opened, choice, err := Open(t.Context(), spec)
			require.NoError(t, err)
			require.Equal(t, "xla-cpu", choice.Name)
			require.Equal(t, plugin, choice.Plugin)
			require.Equal(t, spec, choice.Config)
			require.True(t, opened.(interface{ IsCPU() bool }).IsCPU(), "or fast operations are off")
			opened.Finalize()
			spec = choice.Config
		}
	}
}

// A plugin that was verified is the one that is loaded, whatever is put in its place meanwhile.
func TestOpenTheVerifiedPlugin(t *testing.T) {
	plugin := named(t, "libpjrt_cpu.so")
	file, err := os.Open(plugin)
	require.NoError(t, err)
	require.NoError(t, os.Remove(plugin))
	filetest.Write(t, plugin, "evil code")
	m := fake{}.machine(t)
	m.cpuPlugin = func(context.Context) (*os.File, error) { return file, nil }
	opened, choice, err := m.open(t.Context(), "cpu")
	require.NoError(t, err)
	require.Equal(t, plugin, choice.Plugin)
	opened.Finalize()
}

// No plugin is loaded from where go-xla searches: LD_LIBRARY_PATH, or the current folder.
func TestOpenSearchesNoPlugins(t *testing.T) {
	folder := t.TempDir()
	const evil = "pjrt_c_api_evil_plugin.so"
	filetest.Write(t, filepath.Join(folder, evil), "evil code")
	specs := []string{"", "go", "xla", "xla:evil", "xla:" + evil, "xla:./" + evil, "xla:cpu,help",
		"xla:help"}
	for _, spec := range specs {
		cmd := exec.Command(os.Args[0])
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "TEST_OPEN="+spec, "LD_LIBRARY_PATH="+folder,
			compute.ConfigEnvVar+"=")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		require.NotContains(t, string(out), folder, "go-xla would complain of that file")
		require.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
	}
}

// The CUDA plugin of pip's packages finds its tools beside it, unless the user says where they are.
func TestPrepareCUDA(t *testing.T) {
	const flags, tf32 = "XLA_FLAGS", "NVIDIA_TF32_OVERRIDE"
	packages := t.TempDir()
	tools := filepath.Join(packages, "nvidia", "cu13")
	filetest.Write(t, filepath.Join(tools, "nvvm", "libdevice", "libdevice.10.bc"), "")
	plugin := filepath.Join(packages, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")
	for _, test := range []struct{ name, before, after, tf32Before, tf32After string }{
		{nameCUDA, "", "--xla_gpu_cuda_data_dir=" + tools, "", ""},
		{nameCUDAFloat32, "--xla_a=", "--xla_a= --xla_gpu_cuda_data_dir=" + tools, "", "0"},
		{nameCUDAFloat32, "--xla_gpu_cuda_data_dir=/mine", "--xla_gpu_cuda_data_dir=/mine", "1", "1"},
	} {
		t.Setenv("GOPJRT_CUDA_CHECKS", "")
		t.Setenv(flags, test.before)
		t.Setenv(tf32, test.tf32Before)
		prepareCUDA(Choice{Name: test.name, Plugin: plugin})
		require.Equal(t, test.after, os.Getenv(flags))
		require.Equal(t, test.tf32After, os.Getenv(tf32))
	}
}

func TestDiagnose(t *testing.T) {
	t.Setenv(compute.ConfigEnvVar, "")
	check := func(want, says string) {
		t.Helper()
		f := Diagnose(t.Context())
		require.Equal(t, want, f.Status, f)
		require.Contains(t, f.Detail+f.Do, says)
		require.NotContains(t, f.Detail+f.Do, "\n")
	}
	check(OK, nameCPU)
	tools := t.TempDir() // of a machine with a GPU and without its plugin
	filetest.WriteScript(t, filepath.Join(tools, "nvidia-smi"), "echo GPU")
	filetest.WriteScript(t, filepath.Join(tools, "python3"), "exit 1")
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	check(Warn, "although there is a GPU")
	empty := t.TempDir()
	t.Setenv(cache.EnvVar, empty)
	check(Warn, cpuWheels[thisSystem].Requirement)
	check(Warn, "although there is a GPU")
	check(Warn, "; install Python 3 with pip")
	require.NoDirExists(t, filepath.Join(empty, "wheels"), "nothing is installed")
	t.Setenv(compute.ConfigEnvVar, "tpu")
	check(Missing, "unknown")
	t.Setenv(compute.ConfigEnvVar, "")
	t.Setenv(cache.EnvVar, "/dev/null/cache")
	check(Missing, cache.EnvVar)
	readOnly := cachetest.Disk(t, 64)
	cachetest.ReadOnly(t, readOnly)
	t.Setenv(cache.EnvVar, readOnly)
	check(Missing, "read-only")
}

func TestCheckMemory(t *testing.T) {
	require.Equal(t, OK, CheckMemory("profile paper", 1).Status)
	short := CheckMemory("profile paper", 1<<60)
	require.Equal(t, Warn, short.Status)
	require.Contains(t, short.Detail, "profile paper needs up to")
	require.NotEmpty(t, short.Do)
}

// What control groups allow is the smallest limit less what is used, over a group and those above
// it, of both versions, also where a container shows a group at the root. The page cache counts as
// unused.
func TestAllowed(t *testing.T) {
	const gib, none = 1 << 30, uint64(math.MaxUint64)
	for name, test := range map[string]struct {
		groups string
		files  map[string]string
		want   uint64
	}{
		"no groups": {"", nil, none},
		"no limit": {"0::/job\n", map[string]string{
			"job/memory.max": "max\n", "job/memory.current": "5\n",
		}, none},
		"in use": {"0::/job\n", map[string]string{
			"job/memory.max": "4294967296\n", "job/memory.current": "3221225472\n",
			"job/memory.stat": "anon 5\ninactive_file 1073741824\n",
		}, 2 * gib},
		"above": {"0::/job/step\n", map[string]string{
			"job/memory.max": "1073741824\n", "job/step/memory.max": "4294967296\n",
		}, gib},
		"more in use than allowed": {"0::/\n", map[string]string{
			"memory.max": "1\n", "memory.current": "2\n",
		}, 0},
		"a container": {"0::/outer/path\n", map[string]string{"memory.max": "1073741824\n"}, gib},
		"a namespace": {"0::/../job\n", map[string]string{"job/memory.max": "1073741824\n"}, gib},
		"version 1": {"5:cpu:/\n4:hugetlb,memory:/job\n0::/\n", map[string]string{
			"memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"memory/job/memory.limit_in_bytes": "2147483648\n",
			"memory/job/memory.usage_in_bytes": "1610612736\n",
			"memory/job/memory.stat":           "total_inactive_file 536870912\n",
		}, gib},
	} {
		mount := t.TempDir()
		for file, text := range test.files {
			filetest.Write(t, filepath.Join(mount, file), text)
		}
		require.Equal(t, test.want, allowed(mount, test.groups), name)
	}
}

// Without instructions for bfloat16, oneDNN's rewriter or a CPU plugin, bfloat16 is refused, and
// XLA's flags stay.
func TestUseBFloat16Refused(t *testing.T) {
	const flags = "XLA_FLAGS"
	t.Setenv(flags, "--xla_a=")
	pinned, err := Resolve(t.Context(), "cpu")
	require.NoError(t, err)
	for _, spec := range []string{"go", pinned.Config, "xla:/etc/passwd"} {
		err := UseBFloat16(t.Context(), spec)
		require.ErrorContains(t, err, "precision=bfloat16: ", spec)
		require.NotContains(t, err.Error(), "\n", spec)
	}
	require.ErrorContains(t, Check(t.Context(), "go", true), "precision=bfloat16: ")
	require.Equal(t, "--xla_a=", os.Getenv(flags))
	require.NoError(t, CheckFloat32())
}

// After bfloat16 a process does not compute in float32.
func TestCheckFloat32(t *testing.T) {
	before := cpuWheels[thisSystem]
	t.Cleanup(func() { cpuWheels[thisSystem] = before })
	cpuWheels[thisSystem] = bfloat16Wheel
	require.ErrorContains(t, CheckFloat32(), "in another one")
}

// What a user says about a flag of XLA's stays, and flags that are in a file are not overridden.
func TestAddFlag(t *testing.T) {
	for before, after := range map[string]string{
		"":              "--xla_a=1",
		" --xla_b=2 ":   "--xla_b=2 --xla_a=1",
		"--xla_a=false": "--xla_a=false",
	} {
		t.Setenv(xlaFlags, before)
		require.NoError(t, addFlag("--xla_a", "1"))
		require.Equal(t, after, os.Getenv(xlaFlags))
	}
	t.Setenv(xlaFlags, "flags.txt")
	require.ErrorContains(t, addFlag("--xla_a", "1"), "names a file")
	require.Equal(t, "flags.txt", os.Getenv(xlaFlags))
}
