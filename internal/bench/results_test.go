package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"pgregory.net/rapid"

	"ebsscgo/experiments"
)

// readRecord reads a file as benchstat does.
func readRecord(t *testing.T, file string) (lines []*benchfmt.Result) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	reader := benchfmt.NewReader(bytes.NewReader(text), file)
	for reader.Scan() {
		line, ok := reader.Result().(*benchfmt.Result)
		require.True(t, ok, "%v", reader.Result())
		lines = append(lines, line.Clone())
	}
	require.NoError(t, reader.Err())
	return lines
}

// measured is what a program's steps cost in training a network without sweeps, at batch 32 and width 96.
func measured(t *testing.T, program string, seconds ...float64) result {
	t.Helper()
	m := measurement{first: 60}
	for _, s := range seconds {
		m.rounds = append(m.rounds, cost{s, 100 * s})
	}
	r, err := newResult(newCase(experiments.Table[1], Size{32, 96}), training, &peer{name: program, version: "1.2"}, m, 200)
	require.NoError(t, err)
	return r
}

// Every round is a line. Speed is in operations of the convolutions' definition, and a share of the peak.
func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench", "steps.txt")
	r, err := openRecord(file, Plan{Backend: "cpu", Commit: "abc"}, 200)
	require.NoError(t, err)
	require.NoError(t, r.add([]result{measured(t, fastProgram, 0.5, 1), measured(t, torchBF16Peer, 2)}))

	lines := readRecord(t, file)
	require.Len(t, lines, 3)
	for key, want := range map[string]string{"commit": "abc", "goos": runtime.GOOS, "goarch": runtime.GOARCH, "backend": "cpu",
		"peak": "200.0 GFLOP/s", "versions": "ebssc 1.2, torch-bf16 1.2"} {
		require.Equal(t, want, lines[2].GetConfig(key))
	}
	require.Regexp(t, `^20\d\d-\d\d-\d\dT.*Z$`, lines[0].GetConfig("date"))
	require.Equal(t, "Train/experiment=crelu-lc7/batch=32/width=96/program=torch-bf16-"+strconv.Itoa(runtime.NumCPU()), lines[2].Name.String())
	flop, err := experiments.Table[1].Network(96).TrainingFLOP()
	require.NoError(t, err)
	speed := float64(32*flop) / 1e9 / 0.5
	for unit, want := range map[string]float64{"sec/step": 0.5, "images/s": 64, "GFLOP/s": speed, "peak-share": speed / 200, "sec/first-step": 60, "MiB": 50} {
		got, ok := lines[0].Value(unit)
		require.True(t, ok, unit)
		require.InEpsilon(t, want, got, 1e-4, unit)
	}
	_, again := lines[1].Value("sec/first-step")
	require.False(t, again, "a process has one first step")
}

// What a file has stays byte for byte, also that of other commits and programs.
func TestRecordAppends(t *testing.T) {
	file := filepath.Join(t.TempDir(), "steps.txt")
	var before []byte
	for i, commit := range []string{"abc", "def"} {
		r, err := openRecord(file, Plan{Commit: commit}, 200)
		require.NoError(t, err)
		require.NoError(t, r.add([]result{measured(t, []string{torchPeer, jaxPeer}[i], 0.5)}))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(text, before))
		before = text
	}
	lines := readRecord(t, file)
	require.Equal(t, "abc torch 1.2", lines[0].GetConfig("commit")+" "+lines[0].GetConfig("versions"))
	require.Equal(t, "def jax 1.2", lines[1].GetConfig("commit")+" "+lines[1].GetConfig("versions"))

	// Two that are open at a time both keep what they measured.
	one, err := openRecord(file, Plan{}, 200)
	require.NoError(t, err)
	two, err := openRecord(file, Plan{}, 200)
	require.NoError(t, err)
	for _, r := range []*record{one, two, one} {
		require.NoError(t, r.add([]result{measured(t, torchPeer, 0.5)}))
	}
	require.Len(t, readRecord(t, file), 5)

	_, err = openRecord(t.TempDir(), Plan{}, 200)
	require.ErrorContains(t, err, "is a directory")
}

func TestPrintMedians(t *testing.T) {
	var out strings.Builder
	bare := result{experiment: "unroll-1", size: Size{100, 8}, what: inference, program: jaxPeer, rounds: [][]float64{{0.25, 400, 0, 0, 0, 0}}}
	require.NoError(t, printMedians(&out, []result{measured(t, fastProgram, 1, 4, 2), measured(t, torchPeer, 2, 4, 5), bare}))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 5)
	require.Equal(t, "experiment batch width measured program sec/step images/s GFLOP/s peak-share sec/first-step MiB × PyTorch",
		strings.Join(strings.Fields(lines[0]), " "))
	require.Regexp(t, `^crelu-lc7 +32 +96 +train +ebssc +2\.0000 +16 +\d+ +0\.\d\d +60\.0 +200 +0\.50 \(0\.40–1\.00\)$`, lines[1])
	require.Contains(t, lines[2], "1.00 (1.00–1.00)")
	require.Equal(t, []string{"unroll-1", "100", "8", "inference", "jax", "0.2500", "400"}, strings.Fields(lines[3]))
}

func TestRatio(t *testing.T) {
	middle, low, high := ratioOf([]float64{1, 4, 1, 1}, []float64{2, 2, 4, 2})
	require.Equal(t, []float64{0.5, 0.25, 2}, []float64{middle, low, high})
	times := rapid.SliceOfN(rapid.Float64Range(1e-3, 10), 1, 9)
	rapid.Check(t, func(t *rapid.T) {
		reference := times.Draw(t, "reference")
		factor := rapid.Float64Range(0.1, 10).Draw(t, "factor")
		scaled := make([]float64, len(reference))
		for i := range reference {
			scaled[i] = factor * reference[i]
		}
		middle, low, high := ratioOf(scaled, reference)
		for _, got := range []float64{middle, low, high} {
			require.InDelta(t, factor, got, 1e-9*factor)
		}
	})
}
