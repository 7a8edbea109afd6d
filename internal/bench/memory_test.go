package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

// BenchmarkStepMemory reports what XLA reserves for the values between the variables and the loss in a training step of
// each number of sweeps. A process's peak memory (MiB in steps.txt) also has the compiler's memory in it; this figure is exact,
// and the same on a busy machine.
//
//	go test ./internal/bench -run '^$' -bench StepMemory -benchtime 1x
func BenchmarkStepMemory(b *testing.B) {
	for _, e := range experiments.Unroll {
		b.Run(e.Name, func(b *testing.B) {
			stepMemory(b, newCase(e, usualSizes(e)[0]))
		})
	}
}

// BenchmarkStepHypotheses reports time and memory of a training step of SSC+EBC₆₋₇ (batch 32, width 16) against the number of
// classes: with all hypotheses inferred at once, and with ten at a time.
//
//	go test ./internal/bench -run '^$' -bench StepHypotheses -benchtime 3x
func BenchmarkStepHypotheses(b *testing.B) {
	_, row, err := experiments.Studies.Experiment("ssc-ebc67")
	require.NoError(b, err)
	for _, classes := range []int{10, 20, 50, 100, 200} {
		for _, atOnce := range slices.Compact([]int{classes, 10}) {
			b.Run(fmt.Sprintf("classes=%d/at-once=%d", classes, atOnce), func(b *testing.B) {
				c := newCase(row, Size{Batch: 32, Width: 16})
				c.Network.Classes = classes
				c.Settings = c.Settings.With(experiments.Settings{ebssc.ParamHypotheses: atOnce})
				stepMemory(b, c)
			})
		}
	}
}

// BenchmarkStepScale reports time and memory of a training step against width and batch.
//
//	go test ./internal/bench -run '^$' -bench StepScale -benchtime 5x
func BenchmarkStepScale(b *testing.B) {
	for _, row := range experiments.Table[3:] {
		for _, size := range []Size{{32, 12}, {32, 24}, {32, 48}, {32, 96}, {64, 24}, {128, 24}, {256, 24}} {
			b.Run(fmt.Sprintf("%s/batch=%d/width=%d", row.Name, size.Batch, size.Width), func(b *testing.B) {
				stepMemory(b, newCase(row, size))
			})
		}
	}
}

// stepMemory times training steps of a case in a process of its own, and reports what XLA reserves for one.
func stepMemory(b *testing.B, c testCase) {
	b.Setenv(roleVar, "own")
	dump, folder := b.TempDir(), b.TempDir()
	b.Setenv("XLA_FLAGS", "--xla_dump_to="+dump)
	require.NoError(b, c.write(folder))
	p, err := startPeer(b.Context(), fastProgram, []string{os.Args[0], "serve", folder}, folder)
	require.NoError(b, err)
	first, err := p.turn(training, 1)
	require.NoError(b, err)
	for b.Loop() {
		_, err = p.turn(training, 1)
		require.NoError(b, err)
	}
	require.NoError(b, p.close())
	b.ReportMetric(reserved(b, dump)/(1<<20), "MiB")
	b.ReportMetric(first.seconds, "first-s")
}

// reserved are the bytes that XLA's report on the training step names, in the folder of its dumps.
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
