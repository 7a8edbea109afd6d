package bench

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"
)

// Peak memory counts from the last reset.
func TestPeakMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports a process's peak memory")
	}
	const mib = 1 << 20
	require.NoError(t, resetPeakMemory(os.Getpid()))
	before, err := peakMemory(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, before)
	held := make([]byte, 64*mib)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	with, err := peakMemory(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, with, before+50)
	runtime.KeepAlive(held)
	held = nil
	debug.FreeOSMemory()
	require.NoError(t, resetPeakMemory(os.Getpid()))
	after, err := peakMemory(os.Getpid())
	require.NoError(t, err)
	require.Less(t, after, with-50)
}

func TestCPUFeatures(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x/sys/cpu, with which this test compares, names other features here")
	}
	features := strings.Fields(cpuFeatures())
	for name, has := range map[string]bool{"AVX2": cpu.X86.HasAVX2, "AVX512F": cpu.X86.HasAVX512F, "AVX512BF16": cpu.X86.HasAVX512BF16, "SSE2": false} {
		require.Equal(t, has, slices.Contains(features, name), name)
	}
}
