package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/shirou/gopsutil/v4/mem"

	"ebsscgo/internal/cache"
)

// The values of [Finding.Status].
const (
	OK      = "ok"      // usable
	Warn    = "warn"    // usable, but needs attention
	Missing = "missing" // not available
)

// Finding is the result of checking one thing.
type Finding struct {
	What   string // a noun: "backend"
	Status string
	Detail string // one line: what was found, or what is wrong
	Do     string // what to do about it; empty if nothing
}

// Diagnose starts the backend that a run takes by default. It installs nothing, and never fails: what is wrong is a Finding, too.
func Diagnose(ctx context.Context) Finding {
	f := Finding{What: "backend", Status: OK}
	opened, choice, err := thisMachine(cache.Installed).open(ctx, "", 1)
	switch {
	case errors.Is(err, cache.ErrMissing):
		f.Status, f.Do = Warn, choice.Warning
		f.Detail = nameCPU + ", after pip has installed " + cpuWheels[thisSystem].Requirement + " on the first run"
	case err != nil: // which says what to do
		f.Status, f.Detail = Missing, OneLine(err)
	default:
		opened.Finalize()
		f.Detail = fmt.Sprintf("%s (%s) %s", choice.Name, choice.Why, cmp.Or(choice.GPU(), choice.Plugin))
		if choice.Warning != "" {
			f.Status, f.Do = Warn, choice.Warning
		}
	}
	return f
}

// CheckMemory compares the memory that programs can still allocate without swapping, at most the limit of this process's container, with the bytes
// that who needs, the subject of a sentence: "profile paper". Like [Diagnose] it never fails.
func CheckMemory(who string, needed uint64) Finding {
	const gib = 1 << 30
	f := Finding{What: "memory", Status: OK}
	memory, err := mem.VirtualMemory()
	if err != nil {
		return Finding{f.What, Warn, OneLine(err), ""}
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
