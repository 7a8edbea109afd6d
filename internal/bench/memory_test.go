package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
)

// Peak memory counts from when it was forgotten.
func TestPeakMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a process's peak memory")
	}
	const mib = 1 << 20
	require.NoError(t, forgetPeak())
	before, err := peakMemory()
	require.NoError(t, err)
	require.Positive(t, before)
	held := make([]byte, 64*mib)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	with, err := peakMemory()
	require.NoError(t, err)
	require.Greater(t, with, before+50)
	runtime.KeepAlive(held)
	held = nil
	debug.FreeOSMemory()
	require.NoError(t, forgetPeak())
	after, err := peakMemory()
	require.NoError(t, err)
	require.Less(t, after, with-50)
}

// BenchmarkStepMemory reports what XLA sets aside for the values between the variables and the loss in a training step of
// each number of sweeps. A process's peak memory (the column of steps.csv) has the compiler's leavings in it, too; this
// figure is exact, and the same on a busy machine.
//
//	go test ./internal/bench -run '^$' -bench StepMemory -benchtime 1x
func BenchmarkStepMemory(b *testing.B) {
	b.Setenv(roleVar, "own")
	for _, e := range experiments.Unroll {
		b.Run(e.Name, func(b *testing.B) {
			dump := b.TempDir()
			b.Setenv("XLA_FLAGS", "--xla_dump_to="+dump)
			sizes, err := usualSizes(e)
			require.NoError(b, err)
			folder := b.TempDir()
			require.NoError(b, newCase(e, sizes[0]).write(folder))
			for b.Loop() {
				p, _, err := startPeer(b.Context(), fastProgram, []string{os.Args[0], folder}, folder)
				require.NoError(b, err)
				_, err = p.turn(training, 1)
				require.NoError(b, err)
				require.NoError(b, p.close())
			}
			b.ReportMetric(reserved(b, dump)/(1<<20), "MiB")
			b.ReportMetric(0, "ns/op") // it is not about time
		})
	}
}

// reserved are the bytes that XLA's report on the training step names, among what it wrote to a folder.
func reserved(b *testing.B, dump string) (bytes float64) {
	reports, err := filepath.Glob(filepath.Join(dump, "*Trainer*memory-usage-report.txt"))
	require.NoError(b, err)
	require.Len(b, reports, 1)
	text, err := os.ReadFile(reports[0])
	require.NoError(b, err)
	_, total, _ := strings.Cut(string(text), "Total bytes:")
	_, err = fmt.Sscan(total, &bytes)
	require.NoError(b, err, "%s", text[:min(len(text), 200)])
	return bytes
}
