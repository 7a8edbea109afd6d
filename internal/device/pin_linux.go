package device

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// PinThread wires the calling goroutine to its thread, and that thread to one of equal shares of
// the process's cores, numbered from 0. Threads that it starts stay there, too: those of a backend
// that is opened next. With more shares than cores nothing is pinned. It returns the number of
// cores in the share, of those that [Cores] counts, at least 1.
//
// The goroutine must end without runtime.UnlockOSThread: then the thread ends with it.
func PinThread(share, shares int) (cores int, err error) {
	runtime.LockOSThread()
	var all, own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return 0, fmt.Errorf("asking for the thread's cores: %w", err)
	}
	count := all.Count()
	if shares > count {
		return 1, nil
	}
	for cpu, seen := 0, 0; seen < count; cpu++ {
		if !all.IsSet(cpu) {
			continue
		}
		if seen*shares/count == share {
			own.Set(cpu)
		}
		seen++
	}
	if err := unix.SchedSetaffinity(0, &own); err != nil {
		return 0, fmt.Errorf("keeping a thread on its cores: %w", err)
	}
	return max(1, min(own.Count(), Cores()/shares)), nil
}
