package device

import (
	"fmt"
	"syscall"
)

// leastAddressSpace is the address space in bytes below which Go or XLA abort instead of failing with an error.
const leastAddressSpace = 4 << 30

// CheckAddressSpace refuses a limit on the process's address space (ulimit -v) that is too small: Go and XLA reserve gigabytes
// that they do not use, and abort without them. Call it first in main.
func CheckAddressSpace() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur >= leastAddressSpace {
		return nil // a system without this limit has none that is too small
	}
	return fmt.Errorf("the limit on the address space (ulimit -v) is %d KiB: give at least %d, or unlimited", limit.Cur>>10, leastAddressSpace>>10)
}
