package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// forgetPeak has the kernel count this process's peak memory from here.
func forgetPeak() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakMemory is this process's peak resident memory in MiB; 0 on systems other than Linux.
func peakMemory() (mib float64, err error) {
	if runtime.GOOS != "linux" {
		return 0, nil
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(text, []byte("VmHWM:"))
	if _, err := fmt.Sscan(string(after), &mib); err != nil {
		return 0, errors.New("/proc/self/status does not say VmHWM, the peak memory")
	}
	return mib / 1024, nil
}
