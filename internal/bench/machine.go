package bench

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"
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

// vectorInstructions are the features that decide how fast a CPU multiplies, by their names in package cpuid.
var vectorInstructions = regexp.MustCompile(`^(?:AVX|FMA|AMX|ASIMD|SVE|SME)`)

// cpuFeatures are the vector and matrix instructions of this machine's CPU, such as AVX512F, AVX512BF16 or AMXTILE.
func cpuFeatures() string {
	return strings.Join(slices.DeleteFunc(cpuid.CPU.FeatureSet(), func(feature string) bool { return !vectorInstructions.MatchString(feature) }), " ")
}
