package train_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/train"
)

// residents is a log that measures this process's resident memory, in MiB, at each line: after each epoch.
type residents []float64

// Write measures.
func (r *residents) Write(line []byte) (int, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(status, []byte("VmRSS:"))
	var kib float64
	if _, err := fmt.Sscan(string(after), &kib); err != nil {
		return 0, fmt.Errorf("/proc/self/status does not say VmRSS, the resident memory: %w", err)
	}
	*r = append(*r, kib/1024)
	return len(line), nil
}

// train trains a run and returns the resident memory after each epoch.
func (r residents) train(t testing.TB, run experiments.Run, set *dataset.Set) residents {
	if runtime.GOOS != "linux" {
		t.Skip("resident memory is read from /proc")
	}
	runner := &train.Runner{Backend: xla, Set: set, Log: &r}
	_, err := runner.Train(t.Context(), run, t.TempDir(), nil)
	require.NoError(t, err)
	return r[len(r)-run.Epochs:]
}

// What a process holds does not grow with epochs: of training, of checkpoints, of measuring.
func TestMemoryIsBounded(t *testing.T) {
	set := madeSet(100, 100)
	row := experiments.Table[4]
	row.Traced = true
	after := residents{}.train(t, small(t, row, set, 60), set)
	require.Less(t, after[59], 1.05*after[19], after)
}

// BenchmarkMemory trains a row and a traced network of profile smoke for 200 epochs, on noise: resident memory after epoch 20
// and at the end, and by how much it grew between.
//
//	go test ./internal/train -run '^$' -bench Memory -benchtime 1x
func BenchmarkMemory(b *testing.B) {
	for _, name := range []string{"ssc-ebc67", "unroll-1"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run, set := smokeRun(b, name, 200)
				after := residents{}.train(b, run, set)
				b.ReportMetric(after[19], "MiB-at-20")
				b.ReportMetric(after[199], "MiB-at-200")
				b.ReportMetric(100*(after[199]/after[19]-1), "%-grown")
			}
		})
	}
}

// smokeRun is a run of profile smoke on noise.
func smokeRun(b *testing.B, name string, epochs int) (experiments.Run, *dataset.Set) {
	study, e, err := experiments.Studies.Experiment(name)
	require.NoError(b, err)
	profile, err := experiments.FindProfile("smoke")
	require.NoError(b, err)
	scale := profile.Scale(study)
	scale.Epochs = epochs
	set := noise(e.Network(scale.Width), scale.TrainImages, scale.TestImages)
	runs, err := experiments.Plan(e, profile.Name, scale, describe(set), onOne, experiments.Overrides{})
	require.NoError(b, err)
	return runs[0], set
}
