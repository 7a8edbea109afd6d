package device

/*
#include <dlfcn.h>
#include <stdint.h>

// pjrt_api loads a plugin and returns its table of functions; 0 if that fails, as dlerror says.
static uintptr_t pjrt_api(const char *path) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	uintptr_t (*api)(void) = library ? dlsym(library, "GetPjrtApi") : 0;
	return api ? api() : 0;
}
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	"github.com/gomlx/go-xla/compute/xla"  // registers "xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/support/exceptions"

	"ebsscgo/internal/cache"
	"ebsscgo/internal/quiet"
)

// Choice is the backend that was chosen, and why.
type Choice struct {
	// Config is a GoMLX configuration with which [Open] opens the backend again in this process. It
	// names a plugin by its absolute path.
	Config string
	// Name is recorded in results: "xla-cpu", "xla-cuda", "xla-cuda-float32" (without TF32), "go", or
	// "xla" for a plugin of unknown kind.
	Name string
	// Plugin is the absolute path of the PJRT plugin, without symbolic links; empty for the Go
	// backend.
	Plugin string
	// Why is the reason for the choice in a few words, and Warning is a line for the user, empty if
	// there is nothing to warn of.
	Why, Warning string

	file *os.File // the plugin that was verified; nil for others
}

const (
	nameCPU         = "xla-cpu"
	nameCUDA        = "xla-cuda"
	nameCUDAFloat32 = "xla-cuda-float32"
	nameGo          = "go"
	nameXLA         = "xla"
)

func init() {
	quiet.End()
	// Code that asks GoMLX for a backend by name must not download a plugin either.
	xla.EnableAutoInstall(false)
	// Before any client, which reads it: XLA divides the sum of a kernel's gradient by its threads.
	os.Setenv("PJRT_NPROC", strconv.Itoa(threads))
}

// threads is the number of threads of an XLA client on the CPU, whatever the machine has. A client
// has four devices and at least a thread for each: machines of up to four processors have had this
// number, and the committed results have its bits.
const threads = 4

// Threads returns the number of XLA's threads on the CPU, which decides how sums are rounded; 0 on
// other backends.
func (c Choice) Threads() int {
	if c.Name != nameCPU {
		return 0
	}
	return threads
}

// CUDA reports whether an NVIDIA GPU computes.
func (c Choice) CUDA() bool { return c.Name == nameCUDA || c.Name == nameCUDAFloat32 }

// GPU returns the name of the GPU that computes, as nvidia-smi gives it. It is empty if none does,
// or if nvidia-smi fails.
func (c Choice) GPU() string {
	if !c.CUDA() {
		return ""
	}
	return nameGPU(context.Background())
}

// Open resolves spec (see [Resolve]) and starts the backend, which the caller finalizes.
func Open(ctx context.Context, spec string) (compute.Backend, Choice, error) {
	return thisMachine(cache.Fetch).open(ctx, spec)
}

// open is [Open] on a machine.
func (m machine) open(ctx context.Context, spec string) (compute.Backend, Choice, error) {
	c, err := m.resolve(ctx, spec)
	if err != nil {
		return nil, c, err
	}
	if err := checkFlags(ctx, c); err != nil {
		return nil, Choice{}, err
	}
	if c.CUDA() {
		prepareCUDA(c)
	}
	if c.file != nil && computesWide() {
		accepted.Store(c.Plugin, true) // the flags of the user; the pinned plugin knows this one
		preferWideVectors()            // fails where the user's flags are in a file
	}
	opened, err := c.start()
	if err != nil && c.Why == foundCUDA { // an old driver, or CUDA_VISIBLE_DEVICES hides it
		warning := cpuInstead(err)
		opened, c, err = m.open(ctx, "cpu")
		c.Why, c.Warning = "a GPU found that does not start", warning
		return opened, c, err
	}
	if err == nil && c.Name == nameXLA && isCPU(opened.DeviceDescription(0)) {
		opened.Finalize()
		c.Name = nameCPU
		opened, err = c.start()
	}
	if err != nil {
		return nil, Choice{}, fmt.Errorf("backend %q does not start: %w; %s", c.Config, err, c.hint(err))
	}
	return opened, c, nil
}

// isCPU reports whether the name of a plugin or a device says that it is a CPU.
func isCPU(name string) bool { return strings.Contains(strings.ToUpper(name), "CPU") }

// hint returns what to do where the backend does not start.
func (c Choice) hint(err error) string {
	hint := "choose another with --backend (cpu, go), or see ebssc doctor"
	switch {
	case errors.Is(err, errNoexec) && c.file != nil:
		hint = fmt.Sprintf("set %s to a folder on another disk", cache.EnvVar)
	case errors.Is(err, errNoexec):
		hint = "move it to another disk"
	case c.CUDA():
		hint += "; if a library of NVIDIA's is missing, " + installCUDA
	}
	return hint
}

var errNoexec = errors.New("no library can be loaded from a disk that is mounted noexec")

// start starts the backend. GoMLX panics if it does not know a backend, and go-xla if it cannot
// load a plugin: start returns that as an error.
func (c Choice) start() (opened compute.Backend, err error) {
	if mount := noexec(c.Plugin); mount != "" {
		return nil, fmt.Errorf("%w: that at %s is mounted so", errNoexec, mount)
	}
	panicked := exceptions.TryCatch[error](func() {
		if c.Name != nameCPU {
			opened, err = compute.NewWithConfig(c.Config)
			return
		}
		_, options, _ := strings.Cut(c.Config, ",")
		var name string
		if name, err = c.load(); err == nil {
			opened, err = xla.NewWithOptions(name+","+options, nil)
		}
	})
	return opened, errors.Join(panicked, err)
}

// loaded holds the CPU plugins of this process by their names in go-xla.
var (
	loaded  = map[string]Choice{}
	loading sync.Mutex
)

// load loads a CPU plugin, and returns its name in go-xla. The name says that it is a CPU's: go-xla
// and this program's fast operations have nothing else to know that by. A plugin that was verified
// is loaded by its open file, so that nothing can take its place. The file stays open: glibc takes
// a path that it knows for the library that it has, and another file must not get this descriptor.
func (c Choice) load() (name string, err error) {
	loading.Lock()
	defer loading.Unlock()
	name = "/cpu" + c.Plugin
	if _, ok := loaded[name]; ok {
		return name, nil
	}
	path := fmt.Sprintf("/proc/self/fd/%d", c.file.Fd())
	if _, err := os.Stat(path); err != nil {
		path = c.Plugin // one that was named, or a system without /proc
	}
	runtime.LockOSThread() // for dlerror
	defer runtime.UnlockOSThread()
	api := C.pjrt_api(C.CString(path)) // a few bytes that are kept, as the plugin is
	if api == 0 {
		return "", errors.New(C.GoString(C.dlerror()))
	}
	loaded[name] = c
	return name, pjrt.RegisterPreloadedPlugin(name, uintptr(api))
}
