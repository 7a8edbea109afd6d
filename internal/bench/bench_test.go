package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/device"
	"ebsscgo/internal/table"
)

// The test's own program is those that are measured, too: which one is said in roleVar.
func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVar); role {
	case "":
		os.Exit(m.Run())
	case "own":
		serveSelf()
	default:
		fakePeer(role)
	}
}

// serveSelf is what `ebssc bench serve` and, with small matrices, `ebssc bench peak` do.
func serveSelf() {
	xla, _, err := device.Open(context.Background(), "cpu", 1)
	switch {
	case err != nil:
	case os.Args[1] == "serve":
		err = Serve(xla, os.Args[2], slices.Contains(os.Args, "--plain"), os.Stdin, os.Stdout)
	case os.Args[1] == "peak":
		var flops float64
		if flops, err = peakOf(xla, 256); err == nil {
			fmt.Println(flops/1e9, "GFLOP/s")
		}
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
	require.NoError(t, Plan{Rounds: 1, Peers: GPUPeerNames, GPU: true}.Validate())
	require.ErrorContains(t, Plan{Rounds: 1, Peers: PeerNames, GPU: true}.Validate(), "torch is measured on the CPU alone")
}

// JAX computes on what this program computes on, and scores may differ by the rounding there.
func TestGPUPlan(t *testing.T) {
	for gpu, platform := range map[bool]string{false: "cpu", true: "cuda"} {
		command, err := Plan{GPU: gpu}.command(jaxPeer, "python3", t.TempDir())
		require.NoError(t, err)
		require.Equal(t, platform, command[len(command)-1])
	}
	require.Greater(t, Plan{GPU: true}.tolerance(), Plan{}.tolerance())
}

// counted is a program whose turns take as many seconds as it has had timed ones and ten times as much memory, and which
// writes down who computes. Its first step takes a minute.
type counted struct {
	name         string
	log          *[]string
	turns, timed int
	err          error
}

func (c *counted) label() (name, version string) { return c.name, "1" }
func (c *counted) close() error                  { return nil }
func (c *counted) turn(what string, steps int) (cost, error) {
	*c.log = append(*c.log, fmt.Sprint(c.name, steps))
	if steps == stepsPerTurn {
		c.timed++
	}
	if c.turns++; c.turns == 1 {
		return cost{60, 1000}, c.err
	}
	return cost{float64(c.timed), float64(10 * c.timed)}, c.err
}

// Programs are warmed up, and then compute in rounds that begin with another one each, with an untimed step first.
func TestTakeTurnsInterleaves(t *testing.T) {
	var log []string
	programs := []program{&counted{name: "a", log: &log}, &counted{name: "b", log: &log}}
	got, err := takeTurns(context.Background(), programs, training, 3)
	require.NoError(t, err)
	require.Equal(t, []measurement{{60, []float64{1, 2, 3}, 30}, {60, []float64{1, 2, 3}, 30}}, got)
	require.Equal(t, "a1 a1 b1 b1 a1 a3 b1 b3 b1 b3 a1 a3 a1 a3 b1 b3", strings.Join(log, " "))
}

// The first step of training is what compiles; inference was compiled before.
func TestLinesOf(t *testing.T) {
	programs := []program{&counted{name: fastProgram}, &counted{name: torchPeer}}
	measured := []measurement{{60, []float64{1, 3, 2}, 30}, {5, []float64{2, 3, 4}, 50}}
	lines := linesOf(programs, measured, training)
	require.Equal(t, Line{What: training, Program: fastProgram, Version: "1", Min: 1, Median: 2, Rounds: 3, First: 60, Peak: 30,
		Ratio: Ratio{Median: 2. / 3, Low: 0.5, High: 1}}, lines[0])
	require.Equal(t, Ratio{1, 1, 1}, lines[1].Ratio)
	require.Zero(t, linesOf(programs, measured, inference)[0].First)
}

func TestPaysFrom(t *testing.T) {
	line := func(first, median float64) Line { return Line{First: first, Median: median} }
	for _, c := range []struct {
		fast, plain Line
		want        string
	}{
		{line(5, 1), line(3, 1.5), "from step 5"}, // 5 + 4·1 = 3 + 4·1.5
		{line(3, 1), line(3, 1.5), "from step 1"},
		{line(5, 2), line(3, 1.5), "at no step"},
		{line(3, 2), line(5, 1.5), "up to step 5"}, // 3 + 4·2 = 5 + 4·1.5
	} {
		require.Equal(t, c.want, paysFrom(c.fast, c.plain))
	}
}

// Networks on MNIST are measured as profile quick trains them.
func TestUsualSizes(t *testing.T) {
	sizes, err := usualSizes(experiments.Table[0])
	require.NoError(t, err)
	require.Equal(t, []Size{{32, 96}, {128, 24}}, sizes)
	sizes, err = usualSizes(experiments.Unroll[1])
	require.NoError(t, err)
	quick, err := experiments.FindProfile("quick")
	require.NoError(t, err)
	require.Equal(t, []Size{{quick.Unroll.Settings[experiments.ParamBatch].(int), quick.Unroll.Width}}, sizes)
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
			Rounds: 7, Ratio: Ratio{0.65, 0.6, 0.7}, First: 4.321, Peak: 512.4,
			Speed: 283.2e9, Share: 1.4904, Commit: "abc"}
	}
	require.NoError(t, Update(file, []Line{line("a", 32, 1), line("b", 32, 1), line("a", 128, 1)}))
	withoutTorch := line("a", 32, 3)
	withoutTorch.Ratio, withoutTorch.First, withoutTorch.Peak, withoutTorch.Speed, withoutTorch.Share = Ratio{}, 0, 0, 0, 0
	require.NoError(t, Update(file, []Line{withoutTorch, withoutTorch}))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.Join([]string{
		"row,batch,width,what,program,version,min_s,median_s,rounds,ratio_to_torch,ratio_low,ratio_high,first_s,peak_mib,commit,gflop_per_s,peak_share",
		"a,32,24,train,ebssc,1,3.00000,6.00000,7,,,,,,abc,,",
		"a,32,24,train,ebssc,1,3.00000,6.00000,7,,,,,,abc,,",
		"b,32,24,train,ebssc,1,1.00000,2.00000,7,0.650,0.600,0.700,4.32,512,abc,283.2,1.490",
		"a,128,24,train,ebssc,1,1.00000,2.00000,7,0.650,0.600,0.700,4.32,512,abc,283.2,1.490", ""}, "\n"), string(text))

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
	first := slices.IndexFunc(lines, func(l table.Line) bool { return l["row"] != lines[0]["row"] || l["batch"] != lines[0]["batch"] })
	require.Positive(t, first)
	require.NoError(t, steps.Update(again, lines[:first]))
	want, err := os.ReadFile(committed)
	require.NoError(t, err)
	got, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Print(&out, []Line{
		{Row: "a", Size: Size{32, 96}, What: training, Program: "ebssc", Version: "1", Min: 0.3, Median: 0.35, First: 5, Peak: 300,
			Speed: 283.2e9, Share: 1.4904, Ratio: Ratio{0.65, 0.6, 0.7}},
		{Row: "a", Size: Size{32, 96}, What: training, Program: "ebssc-plain", Version: "1", Min: 0.5, Median: 0.55, First: 3, Peak: 400},
		{Row: "a", Size: Size{32, 96}, What: inference, Program: "jax", Version: "2", Min: 0.4, Median: 0.45},
		{Row: "b", Size: Size{32, 96}, What: training, Program: "ebssc", Version: "1", Min: 0.3, Median: 0.35, First: 5},
	}))
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, []string{"a", "32", "96", "train", "ebssc", "1", "300.0", "350.0", "91", "283", "1.49", "5.0", "300", "0.65", "0.60–0.70"}, strings.Fields(lines[1]))
	require.Equal(t, []string{"a", "32", "96", "inference", "jax", "2", "400.0", "450.0", "71"}, strings.Fields(lines[3]))
	require.Equal(t, []string{"a, batch 32, width 96: the fast operations pay from step 11", ""}, lines[5:])
}

func TestAgree(t *testing.T) {
	want := []float32{100, 1, 0}
	require.NoError(t, agree("torch", []float32{100, 1.05, 0.05}, want, 1e-3))
	require.ErrorContains(t, agree("torch", []float32{100, 1.2, 0}, want, 1e-3), "torch computes something else")
	require.Error(t, agree("torch", want[:2], want, 1e-3))
	nan := want[2] / want[2]
	require.Error(t, agree("torch", []float32{100, nan, 0}, want, 1e-3))
}

// This program is measured with fast operations and without, in processes of its own; with sweeps, too.
func TestRunAlone(t *testing.T) {
	t.Setenv(roleVar, "own")
	results := t.TempDir()
	var out strings.Builder
	require.NoError(t, Run(t.Context(), Plan{
		Experiments: []experiments.Experiment{experiments.Table[4], experiments.Unroll[1]},
		Sizes:       []Size{{2, 2}}, Rounds: 1, Self: []string{os.Args[0]},
	}, results, "abc", &out))
	lines, err := steps.Read(filepath.Join(results, "bench", "steps.csv"))
	require.NoError(t, err)
	var got []string
	for _, l := range lines {
		got = append(got, strings.Join([]string{l["row"], l["what"], l["program"], l["ratio_to_torch"], l["commit"]}, " "))
		require.NotEqual(t, "0.00000", l["min_s"])
		require.Equal(t, l["what"] == training, l["first_s"] != "")
		require.NotContains(t, l["peak_mib"], "-")
		counted := l["what"] == training && l["row"] == "ssc-ebc67" // with sweeps the operations are not known
		require.Equal(t, counted, l["gflop_per_s"] != "")
		require.Equal(t, counted, l["peak_share"] != "")
	}
	require.Equal(t, []string{"ssc-ebc67 train ebssc  abc", "ssc-ebc67 train ebssc-plain  abc",
		"ssc-ebc67 inference ebssc  abc", "ssc-ebc67 inference ebssc-plain  abc",
		"unroll-1 train ebssc  abc", "unroll-1 train ebssc-plain  abc",
		"unroll-1 inference ebssc  abc", "unroll-1 inference ebssc-plain  abc"}, got)
	require.Contains(t, out.String(), "unroll-1, batch 2, width 2: the fast operations pay ")
}

// What goes wrong in this program's own process is one line that names it and the case.
func TestRunFails(t *testing.T) {
	t.Setenv(roleVar, "own")
	e := experiments.Table[0]
	e.Settings = experiments.Settings{ebssc.ParamBFloat16: "perhaps"}
	plan := Plan{Experiments: []experiments.Experiment{e}, Sizes: []Size{{2, 2}}, Rounds: 1, Self: []string{os.Args[0]}}
	err := Run(t.Context(), plan, t.TempDir(), "abc", &strings.Builder{})
	require.ErrorContains(t, err, "relu-lc7, batch 2, width 2: ebssc failed: ")
	require.ErrorContains(t, err, ebssc.ParamBFloat16)
	require.NotContains(t, err.Error(), "\n")
	plan.Self = append(plan.Self, "dance")
	require.EqualError(t, Run(t.Context(), plan, t.TempDir(), "abc", &strings.Builder{}), `measuring the peak failed: unknown command "dance"`)
}

// The peak is that of products, however long the rest of a call takes: at least what a core does without vector instructions, at
// most what no CPU does.
func TestPeak(t *testing.T) {
	xla, _, err := device.Open(t.Context(), "cpu", 1)
	require.NoError(t, err)
	defer xla.Finalize()
	flops, err := peakOf(xla, 512)
	require.NoError(t, err)
	require.Greater(t, flops, 1e9)
	require.Less(t, flops, 1e14)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err = Plan{Self: []string{os.Args[0]}}.peak(ctx)
	require.EqualError(t, err, "enough")
}

// A case comes back as it was written, and what this program leaves for the others is what they need.
func TestCase(t *testing.T) {
	t.Setenv(roleVar, "own")
	for _, e := range slices.Concat(experiments.Table[:1], experiments.Table[4:], experiments.Unroll[1:2]) {
		c := newCase(e, Size{2, 2})
		folder := t.TempDir()
		require.NoError(t, c.write(folder))
		again, err := readCase(folder)
		require.NoError(t, err)
		require.Equal(t, c.Network, again.Network)
		require.Equal(t, c.Settings, again.Settings)
		require.Equal(t, c.images.Value(), again.images.Value())
		require.Equal(t, c.labels.Value(), again.labels.Value())

		p, scores, err := startPeer(t.Context(), fastProgram, []string{os.Args[0], "serve", folder}, folder)
		require.NoError(t, err)
		require.Len(t, scores, 20)
		_, err = p.turn("dance", 1)
		require.ErrorContains(t, err, `ebssc failed: "dance" is neither train nor inference`)
		variables, err := numpy.FromNpzFile(filepath.Join(folder, "variables.npz"))
		require.NoError(t, err)
		entries := 0
		for _, variable := range variables {
			entries += variable.Size()
		}
		count, err := c.Network.Count()
		require.NoError(t, err)
		require.Equal(t, count.Total(), entries, "%s: the peers get all parameters and nothing else", e.Name)
		require.Contains(t, variables, "conv1/dictionary")
	}
}
