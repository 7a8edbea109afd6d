package bench

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
)

// resetPeakMemory makes the kernel count a process's peak memory from now on.
func resetPeakMemory(pid int) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakMemory is a process's peak resident memory in MiB; 0 on systems other than Linux.
func peakMemory(pid int) (mib float64, err error) {
	if runtime.GOOS != "linux" {
		return 0, nil
	}
	file := fmt.Sprintf("/proc/%d/status", pid)
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(text, []byte("VmHWM:"))
	if _, err := fmt.Sscan(string(after), &mib); err != nil {
		return 0, fmt.Errorf("%s has no VmHWM, the peak memory", file)
	}
	return mib / 1024, nil
}

var (
	cpuModel = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)
	cpuFlags = regexp.MustCompile(`(?m)^(?:flags|Features)\s*: (.*)$`)
	// cpuVector finds the flags that decide how fast a CPU multiplies.
	cpuVector = regexp.MustCompile(`\b(?:(?:avx|fma|amx|asimd|sve)\w*|sme2?|bf16|i8mm)\b`)
)

// describeCPU finds a CPU's name and its vector and matrix instructions (such as avx512f, avx512_bf16, amx_tile) in the text of
// /proc/cpuinfo. Both are empty if the text does not have them.
func describeCPU(cpuinfo string) (model, features string) {
	if match := cpuModel.FindStringSubmatch(cpuinfo); match != nil {
		model = match[1]
	}
	if match := cpuFlags.FindStringSubmatch(cpuinfo); match != nil {
		features = strings.Join(cpuVector.FindAllString(match[1], -1), " ")
	}
	return model, features
}
