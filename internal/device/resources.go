package device

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"
)

// Requirements is what a run needs.
type Requirements struct {
	What   string // who needs it, as the subject of a sentence: "profile paper"
	Memory uint64 // peak memory in bytes
	Disk   uint64 // bytes written to Folder
	Folder string // for results; need not exist yet
}

// CheckResources compares free memory and disk space with what a run needs. Like [Diagnose] it never fails: what cannot be
// determined is a Finding too.
func CheckResources(need Requirements) []Finding {
	memory, memoryErr := freeMemory(memlimit.FromCgroup)
	space, spaceErr := freeDisk(need.Folder)
	return []Finding{
		Finding{What: "free memory"}.enough(memory, memoryErr, "here", need.Memory, need.What,
			"close other programs, train fewer rows at once, or take a smaller profile"),
		Finding{What: "free disk, results"}.enough(space, spaceErr, "for "+need.Folder, need.Disk, need.What,
			"free some, or give --results a folder on another disk"),
	}
}

// enough completes f by comparing the bytes that are free, unless finding that out failed, with those needed.
func (f Finding) enough(free uint64, err error, where string, needed uint64, what, do string) Finding {
	if err != nil {
		return f.warn(err, "")
	}
	comparison := fmt.Sprintf("%s %s; %s needs up to %s", bytesText(free), where, what, bytesText(needed))
	if free < needed {
		return f.warn(errors.New(comparison), do)
	}
	return f.ok(comparison)
}

// bytesText prints a number of bytes for people.
func bytesText(bytes uint64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
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

// freeDisk returns how many bytes the user can still write to the disk of dir, which need not exist yet.
func freeDisk(dir string) (uint64, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	usage, err := disk.Usage(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		usage, err = disk.Usage(dir)
	}
	if err != nil {
		return 0, fmt.Errorf("free disk space of %s: %w", dir, err)
	}
	return usage.Free, nil
}
