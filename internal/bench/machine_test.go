package bench

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
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

func TestDescribeCPU(t *testing.T) {
	model, features := describeCPU("processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8480+\n" +
		"flags\t\t: fpu sse2 fma avx avx2 avx512f smep clflush avx512_bf16 amx_bf16 amx_tile amx_int8\nbugs\t: none\n\nprocessor\t: 1\nflags\t\t: avx\n")
	require.Equal(t, "Intel(R) Xeon(R) Platinum 8480+", model)
	require.Equal(t, "fma avx avx2 avx512f avx512_bf16 amx_bf16 amx_tile amx_int8", features)
	model, features = describeCPU("processor: 0\nFeatures\t: fp asimd asimddp sve bf16 i8mm\n")
	require.Empty(t, model)
	require.Equal(t, "asimd asimddp sve bf16 i8mm", features)
	model, features = describeCPU("")
	require.Empty(t, model+features)
}
