package device

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// The C library's settings, and the one for huge pages.
const (
	tunables  = "GLIBC_TUNABLES"
	hugePages = "glibc.malloc.hugetlb"
)

// RestartWithHugePages replaces the program by itself, with the same process ID, arguments and open files, so that glibc's
// allocator asks the kernel for transparent huge pages. XLA allocates its large temporaries anew in each training step; with
// huge pages there are far fewer page faults, and training steps on the CPU are faster. glibc reads the setting before main, so
// it cannot be set later: call this first in main. On success it does not return.
//
// It does nothing, and returns nil, if the setting exists already, whatever its value (GLIBC_TUNABLES=glibc.malloc.hugetlb=0
// turns huge pages off), and on systems other than Linux. C libraries that do not know the setting ignore it.
func RestartWithHugePages() error {
	settings := os.Getenv(tunables)
	if runtime.GOOS != "linux" || strings.Contains(settings, hugePages) {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("huge pages: %w", err)
	}
	if err := os.Setenv(tunables, strings.TrimPrefix(settings+":"+hugePages+"=1", ":")); err != nil {
		return fmt.Errorf("huge pages: %w", err)
	}
	err = syscall.Exec(program, os.Args, os.Environ()) // returns only if it fails
	return fmt.Errorf("huge pages: restarting %s: %w", program, err)
}
