// Package hugepages has the C library's allocator ask the kernel for huge pages.
//
// XLA allocates its large temporaries anew in each training step, and the kernel hands them out page by page. With
// transparent huge pages there are far fewer page faults, and training steps on the CPU are faster.
package hugepages

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

const (
	envVar  = "GLIBC_TUNABLES"
	tunable = "glibc.malloc.hugetlb"
)

// Reexec starts the program again in its own place, with the same process id, arguments and open files, so that
// glibc's allocator uses huge pages. glibc reads the setting once, before main: setting it later is too late.
//
// It does nothing, and returns nil, if the setting is there already (whatever its value, so that the user can turn
// it off with GLIBC_TUNABLES=glibc.malloc.hugetlb=0) and on systems other than Linux. C libraries that do not know
// the setting ignore it. On success it does not return. Call it first in main.
func Reexec() error {
	if runtime.GOOS != "linux" || strings.Contains(os.Getenv(envVar), tunable) {
		return nil
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("huge pages: %w", err)
	}
	err = syscall.Exec(program, os.Args, withTunable(os.Environ())) // returns only if it fails
	return fmt.Errorf("huge pages: starting %s again: %w", program, err)
}

// withTunable returns a copy of env with the setting added to those that are there.
func withTunable(env []string) []string {
	setting := tunable + "=1"
	var out []string
	for _, entry := range env {
		if others, ok := strings.CutPrefix(entry, envVar+"="); !ok {
			out = append(out, entry)
		} else if others != "" {
			setting = others + ":" + setting
		}
	}
	return append(out, envVar+"="+setting)
}
