package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/experiments"
	"ebsscgo/experiments/backend"
)

var xla compute.Backend

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		fakePeer(role)
		return
	}
	var err error
	if xla, _, err = backend.Open(context.Background(), "cpu"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestParseSize(t *testing.T) {
	size, err := ParseSize("32x96")
	require.NoError(t, err)
	require.Equal(t, Size{Batch: 32, Width: 96}, size)
	for _, wrong := range []string{"", "32", "x96", "0x96", "32x-1", "32x96x3"} {
		_, err := ParseSize(wrong)
		require.ErrorContains(t, err, "as 32x96", wrong)
	}
}

func TestPlanValidate(t *testing.T) {
	require.NoError(t, Plan{Rounds: 1, Peers: PeerNames}.Validate())
	require.ErrorContains(t, Plan{}.Validate(), "at least 1")
	require.ErrorContains(t, Plan{Rounds: 1, Peers: []string{"theano"}}.Validate(), "choose from torch, jax")
}

// counted is a program whose turns take as many seconds as it has had timed ones, and which writes down who computes.
type counted struct {
	name  string
	log   *[]string
	timed int
	err   error
}

func (c *counted) label() (name, version string) { return c.name, "1" }
func (c *counted) close() error                  { return nil }
func (c *counted) turn(what string, steps int) (float64, error) {
	*c.log = append(*c.log, fmt.Sprint(c.name, steps))
	if steps == stepsPerTurn {
		c.timed++
	}
	return float64(c.timed), c.err
}

// Programs are warmed up, and then compute in rounds that begin with another one each, with an untimed step first.
func TestTakeTurnsInterleaves(t *testing.T) {
	var log []string
	programs := []program{&counted{name: "a", log: &log}, &counted{name: "b", log: &log}}
	times, err := takeTurns(context.Background(), programs, training, 3)
	require.NoError(t, err)
	require.Equal(t, [][]float64{{1, 2, 3}, {1, 2, 3}}, times)
	require.Equal(t, "a2 b2 a1 a3 b1 b3 b1 b3 a1 a3 a1 a3 b1 b3", strings.Join(log, " "))
}

func TestTakeTurnsStops(t *testing.T) {
	var log []string
	_, err := takeTurns(context.Background(), []program{&counted{log: &log, err: errors.New("no memory")}}, training, 3)
	require.EqualError(t, err, "no memory")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	_, err = takeTurns(ctx, []program{&counted{log: &log}}, training, 3)
	require.EqualError(t, err, "enough")
}

func TestRatio(t *testing.T) {
	require.Equal(t, Ratio{Median: 0.5, Low: 0.25, High: 2}, ratioOf([]float64{1, 4, 1, 1}, []float64{2, 2, 4, 2}))
	require.Equal(t, 2.5, median([]float64{4, 1, 2, 3}))
	times := rapid.SliceOfN(rapid.Float64Range(1e-3, 10), 1, 9)
	rapid.Check(t, func(t *rapid.T) {
		reference := times.Draw(t, "reference")
		factor := rapid.Float64Range(0.1, 10).Draw(t, "factor")
		scaled := make([]float64, len(reference))
		for i := range reference {
			scaled[i] = factor * reference[i]
		}
		ratio := ratioOf(scaled, reference)
		for _, got := range []float64{ratio.Median, ratio.Low, ratio.High} {
			require.InDelta(t, factor, got, 1e-9*factor)
		}
	})
}

func TestUpdateKeepsOtherCases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench", "steps.csv")
	line := func(row string, batch int, seconds float64) Line {
		return Line{Row: row, Size: Size{batch, 24}, What: training, Program: "ebssc", Version: "1", Min: seconds, Median: 2 * seconds,
			Rounds: 7, Ratio: Ratio{0.65, 0.6, 0.7}, Commit: "abc"}
	}
	require.NoError(t, Update(file, []Line{line("a", 32, 1), line("b", 32, 1), line("a", 128, 1)}))
	withoutTorch := line("a", 32, 3)
	withoutTorch.Ratio = Ratio{}
	require.NoError(t, Update(file, []Line{withoutTorch, withoutTorch}))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.Join([]string{
		"row,batch,width,what,program,version,min_s,median_s,rounds,ratio_to_torch,ratio_low,ratio_high,commit",
		"a,32,24,train,ebssc,1,3.00000,6.00000,7,,,,abc",
		"a,32,24,train,ebssc,1,3.00000,6.00000,7,,,,abc",
		"b,32,24,train,ebssc,1,1.00000,2.00000,7,0.650,0.600,0.700,abc",
		"a,128,24,train,ebssc,1,1.00000,2.00000,7,0.650,0.600,0.700,abc", ""}, "\n"), string(text))

	require.NoError(t, os.WriteFile(file, []byte("row,seconds\na,1\n"), 0o644))
	require.ErrorContains(t, Update(file, []Line{withoutTorch}), "other columns")
}

// The committed measurements stay byte for byte what they are when they are written again.
func TestCommittedStepsStay(t *testing.T) {
	committed := filepath.Join("..", "..", "results", "bench", "steps.csv")
	lines, err := steps.Read(committed)
	require.NoError(t, err)
	require.NotEmpty(t, lines)
	again := filepath.Join(t.TempDir(), "steps.csv")
	require.NoError(t, steps.Update(again, lines))
	require.NoError(t, steps.Update(again, lines[:6]))
	want, err := os.ReadFile(committed)
	require.NoError(t, err)
	got, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Print(&out, []Line{
		{Row: "a", Size: Size{32, 96}, What: training, Program: "ebssc", Version: "1", Min: 0.3, Median: 0.35, Ratio: Ratio{0.65, 0.6, 0.7}},
		{Row: "a", Size: Size{32, 96}, What: training, Program: "jax", Version: "2", Min: 0.4, Median: 0.45},
	}))
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, []string{"a", "32", "96", "train", "ebssc", "1", "300.0", "350.0", "0.65", "0.60–0.70"}, strings.Fields(lines[1]))
	require.Equal(t, []string{"a", "32", "96", "train", "jax", "2", "400.0", "450.0"}, strings.Fields(lines[2]))
}

func TestAgree(t *testing.T) {
	want := []float32{100, 1, 0}
	require.NoError(t, agree("torch", []float32{100, 1.05, 0.05}, want))
	require.ErrorContains(t, agree("torch", []float32{100, 1.2, 0}, want), "torch computes something else")
	require.Error(t, agree("torch", want[:2], want))
	nan := want[2] / want[2]
	require.Error(t, agree("torch", []float32{100, nan, 0}, want))
}

// Each row is measured by itself, and what is written for the peers is what they need.
func TestRunAlone(t *testing.T) {
	rows, err := experiments.Find(experiments.Table, []string{"ssc-ebc67"})
	require.NoError(t, err)
	results := t.TempDir()
	var out strings.Builder
	require.NoError(t, Run(context.Background(), xla, Plan{Rows: rows, Sizes: []Size{{2, 2}}, Rounds: 1}, results, "abc", &out))
	lines, err := steps.Read(filepath.Join(results, "bench", "steps.csv"))
	require.NoError(t, err)
	var got []string
	for _, l := range lines {
		got = append(got, strings.Join([]string{l["row"], l["what"], l["program"], l["ratio_to_torch"], l["commit"]}, " "))
		require.NotEqual(t, "0.00000", l["min_s"])
	}
	require.Equal(t, []string{"ssc-ebc67 train ebssc  abc", "ssc-ebc67 train ebssc-plain  abc",
		"ssc-ebc67 inference ebssc  abc", "ssc-ebc67 inference ebssc-plain  abc"}, got)
}

func TestWriteCase(t *testing.T) {
	for _, row := range experiments.Table {
		c := newCase(row, Size{2, 2})
		o, err := newOwn(xla, c, false)
		require.NoError(t, err)
		_, err = o.scores()
		require.NoError(t, err)
		folder := t.TempDir()
		require.NoError(t, c.write(folder, o.c.network.Variables(o.store)))
		require.NoError(t, o.close())

		variables, err := numpy.FromNpzFile(filepath.Join(folder, "variables.npz"))
		require.NoError(t, err)
		entries := 0
		for _, variable := range variables {
			entries += variable.Size()
		}
		count, err := c.network.Count()
		require.NoError(t, err)
		require.Equal(t, count.Total(), entries, "%s: the peers get all parameters and nothing else", row.Name)
		require.Contains(t, variables, "conv1/dictionary")
		batch, err := numpy.FromNpzFile(filepath.Join(folder, "batch.npz"))
		require.NoError(t, err)
		require.Equal(t, []int{2, 32, 32, 3}, batch["images"].Shape().Dimensions)
		require.Equal(t, []int{2}, batch["labels"].Shape().Dimensions)
	}
}
