package device

/*
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// check ends the process with one line under a limit that is too small: Go and XLA abort with pages
// of traces, Go even before main.
__attribute__((constructor)) static void check(void) {
	static const struct { int resource; const char *name; unsigned long kib; } least[] = {
		{RLIMIT_AS, "address space (ulimit -v)", 4 << 20},
		{RLIMIT_DATA, "data (ulimit -d)", 1 << 20},
		{RLIMIT_STACK, "stack (ulimit -s)", 512},
	};
	for (int i = 0; i < 3; i++) {
		struct rlimit limit;
		if (!getrlimit(least[i].resource, &limit) && limit.rlim_cur >> 10 < least[i].kib) {
			dprintf(2, "the limit on the %s is %lu KiB: give at least %lu, or unlimited\n",
				least[i].name, (unsigned long)limit.rlim_cur >> 10, least[i].kib);
			_exit(1);
		}
	}
}
*/
import "C"

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"syscall"
)

// OneLine returns an error's text on one line, for users: GoMLX and the backends add line breaks
// and stack traces.
func OneLine(err error) string {
	return regexp.MustCompile(`\s*\n\s*`).ReplaceAllString(strings.TrimSpace(err.Error()), "; ")
}

// Cores returns the number of cores that the process may use: those that it is bound to, or fewer
// where a container has a quota of processor time.
func Cores() int { return min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }

// RestartWithHugePages replaces the program by itself, with the same process ID, arguments and open
// files, so that glibc's allocator asks the kernel for transparent huge pages. XLA allocates its
// large temporaries anew in each training step; with huge pages there are far fewer page faults,
// and steps on the CPU are faster. glibc reads the setting before main: call this first in main. On
// success it does not return.
//
// It does nothing, and returns nil, if the setting exists already, whatever its value
// (GLIBC_TUNABLES=glibc.malloc.hugetlb=0 turns huge pages off), and on systems other than Linux. C
// libraries that do not know the setting ignore it.
func RestartWithHugePages() error {
	const tunables, hugePages = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"
	settings := os.Getenv(tunables)
	if runtime.GOOS != "linux" || strings.Contains(settings, hugePages) {
		return nil
	}
	program, err := os.Executable()
	if err == nil {
		err = os.Setenv(tunables, strings.TrimPrefix(settings+":"+hugePages+"=1", ":"))
	}
	if err == nil {
		err = syscall.Exec(program, os.Args, os.Environ()) // returns only if it fails
	}
	return fmt.Errorf("huge pages: restarting %s: %w", program, err)
}
