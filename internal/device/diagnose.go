package device

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// Diagnose starts the backend that a run takes by default. It installs nothing, and never fails:
// what is wrong is a Finding, too.
func Diagnose(ctx context.Context) Finding {
	f := Finding{What: "backend", Status: OK}
	opened, choice, err := thisMachine(cache.Installed).open(ctx, "")
	switch {
	case errors.Is(err, cache.ErrMissing):
		f.Status, f.Do = Warn, choice.Warning
		if ask(ctx, cache.Python("import pip; print(pip.__version__)")...) == "" {
			f.Do = strings.TrimPrefix(f.Do+"; "+cache.InstallPip, "; ")
		}
		f.Detail = nameCPU + ", after pip has installed " + cpuWheels[thisSystem].Requirement +
			" on the first run"
	case err != nil: // which says what to do
		f.Status, f.Detail = Missing, OneLine(err)
	default:
		opened.Finalize()
		f.Detail = fmt.Sprintf("%s (%s) %s", choice.Name, choice.Why,
			cmp.Or(choice.GPU(), choice.Plugin))
		if choice.Warning != "" {
			f.Status, f.Do = Warn, choice.Warning
		}
	}
	return f
}

// GiB is the bytes of a gibibyte.
const GiB = 1 << 30

// CheckMemory compares the bytes that are needed with the memory that programs can still allocate
// without swapping and within the limits of this process's container. who needs them is the subject
// of a sentence: "profile paper". Like [Diagnose] it never fails.
func CheckMemory(who string, needed uint64) Finding {
	f := Finding{What: "memory", Status: OK}
	memory, err := mem.VirtualMemory()
	if err != nil {
		return Finding{f.What, Warn, OneLine(err), ""}
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // elsewhere than on Linux there are none
	free := min(memory.Available, allowed("/sys/fs/cgroup", string(groups)))
	f.Detail = fmt.Sprintf("%.1f GiB; %s needs up to %.1f GiB", float64(free)/GiB, who,
		float64(needed)/GiB)
	if free < needed {
		f.Status = Warn
		f.Do = "close other programs, train fewer rows at once, or take a smaller profile"
	}
	return f
}

// allowed returns how many more bytes the control groups of this process let it allocate: what is
// unused of the smallest limit. The page cache counts as unused, as the kernel gives it up first.
// groups is the text of /proc/self/cgroup, and mount the folder that has groups of both versions.
// In a container they may lie at its root, by another path than the text has.
func allowed(mount, groups string) uint64 {
	free := uint64(math.MaxUint64)
	for line := range strings.Lines(groups) {
		// Number, controllers, path.
		fields := append(strings.SplitN(strings.TrimSpace(line), ":", 3), "", "")
		root, most, used, cached := mount, "memory.max", "memory.current", "inactive_file"
		if slices.Contains(strings.Split(fields[1], ","), "memory") {
			root, cached = filepath.Join(mount, "memory"), "total_inactive_file"
			most, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
		} else if fields[1] != "" {
			continue
		}
		folder := filepath.Join(root, filepath.Clean("/"+fields[2]))
		for ; len(folder) >= len(root); folder = filepath.Dir(folder) {
			number := func(file, name string) (value uint64, err error) {
				text, err := os.ReadFile(filepath.Join(folder, file))
				for line := range strings.Lines(string(text)) {
					if digits, ok := strings.CutPrefix(line, name); ok {
						return strconv.ParseUint(strings.TrimSpace(digits), 10, 64)
					}
				}
				return 0, cmp.Or(err, errors.New("no such line"))
			}
			limit, err := number(most, "")
			if err != nil {
				continue // there is no limit, or no group
			}
			taken, _ := number(used, "")
			cache, _ := number("memory.stat", cached+" ")
			taken -= min(taken, cache)
			free = min(free, limit-min(limit, taken))
		}
	}
	return free
}
