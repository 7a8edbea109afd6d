package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/device"
)

// The test's own program is also the measured ones; roleVar says which.
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

// serveSelf does what `ebssc bench serve` and, with small matrices, `ebssc bench peak` do.
func serveSelf() {
	xla, _, err := device.Open(context.Background(), "cpu", 1)
	switch {
	case err != nil:
	case os.Args[1] == "serve":
		err = Serve(xla, os.Args[2], slices.Contains(os.Args, "--plain"), os.Stdin, os.Stdout)
	case os.Args[1] == "peak":
		var gflops float64
		if gflops, err = peakOf(xla, 256); err == nil {
			fmt.Println(gflops, "GFLOP/s")
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
	for _, wrong := range []string{"", "32", "x96", "0x96", "32x-1", "32x96x3", "032x96", "32x 96"} {
		_, err := ParseSize(wrong)
		require.ErrorContains(t, err, "as 32x96", wrong)
	}
}

func TestPlanValidate(t *testing.T) {
	require.NoError(t, Plan{Rounds: 1, Peers: PeerNames}.Validate())
	require.ErrorContains(t, Plan{}.Validate(), "at least 1")
	require.ErrorContains(t, Plan{Rounds: 1, Peers: []string{"theano"}}.Validate(), `peer "theano" cannot be measured on a CPU: choose from torch, torch-bf16, jax`)
	require.NoError(t, Plan{Rounds: 1, Peers: CPUPeers}.Validate())
	require.NoError(t, Plan{Rounds: 1, Peers: GPUPeers, GPU: true}.Validate())
	require.ErrorContains(t, Plan{Rounds: 1, Peers: PeerNames, GPU: true}.Validate(), `peer "torch" cannot be measured on a GPU: choose from jax`)
}

// JAX computes on the same device as this program. Scores may differ by the rounding there, and by that of bfloat16.
func TestPlanCommand(t *testing.T) {
	for gpu, platform := range map[bool]string{false: "cpu", true: "cuda"} {
		folder := t.TempDir()
		command, err := Plan{GPU: gpu}.command(jaxPeer, "python3", folder)
		require.NoError(t, err)
		require.Equal(t, []string{"python3", filepath.Join(folder, "jax_peer.py"), folder, platform, jaxPeer}, command)
	}
	folder := t.TempDir()
	command, err := Plan{}.command(torchBF16Peer, "python3", folder)
	require.NoError(t, err)
	require.Equal(t, []string{"python3", filepath.Join(folder, "torch_peer.py"), folder, "cpu", torchBF16Peer}, command)
	require.FileExists(t, command[1])
	linear, energies := ebssc.Network{Classifier: ebssc.Linear}, ebssc.Network{Classifier: ebssc.EnergySum}
	require.Greater(t, Plan{GPU: true}.tolerance(jaxPeer, linear), Plan{}.tolerance(jaxPeer, linear))
	require.Greater(t, Plan{GPU: true}.tolerance(jaxPeer, energies), Plan{GPU: true}.tolerance(jaxPeer, linear))
	require.Equal(t, []string{plainProgram}, Plan{GPU: true}.own(), "training has plain operations on a GPU")
	require.Greater(t, Plan{}.tolerance(torchBF16Peer, linear), Plan{}.tolerance(torchPeer, linear))
	require.Greater(t, Plan{}.tolerance(torchBF16Peer, energies), Plan{}.tolerance(torchBF16Peer, linear))
	require.Equal(t, Plan{}.tolerance(torchPeer, linear), Plan{}.tolerance(torchPeer, energies))
}

// counted is a program that logs its turns. A timed turn takes as many seconds as it has had timed turns, and ten times as much
// memory. The first step takes a minute.
type counted struct {
	name         string
	log          *[]string
	turns, timed int
	err          error
}

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
	programs := []*counted{{name: "a", log: &log}, {name: "b", log: &log}}
	got, err := takeTurns(context.Background(), programs, training, 3)
	require.NoError(t, err)
	want := measurement{60, []cost{{1, 10}, {2, 20}, {3, 30}}}
	require.Equal(t, []measurement{want, want}, got)
	require.Equal(t, "a1 a1 b1 b1 a1 a3 b1 b3 b1 b3 a1 a3 a1 a3 b1 b3", strings.Join(log, " "))
}

// Networks on MNIST are measured as profile quick trains them.
func TestUsualSizes(t *testing.T) {
	require.Equal(t, []Size{{32, 96}, {128, 24}}, usualSizes(experiments.Table[0]))
	quick, err := experiments.FindProfile("quick")
	require.NoError(t, err)
	require.Equal(t, []Size{{quick.Unroll.Settings[experiments.ParamBatch].(int), quick.Unroll.Width}}, usualSizes(experiments.Unroll[1]))
}

func TestTakeTurnsStops(t *testing.T) {
	var log []string
	_, err := takeTurns(context.Background(), []*counted{{log: &log, err: errors.New("no memory")}}, training, 3)
	require.EqualError(t, err, "no memory")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	_, err = takeTurns(ctx, []*counted{{log: &log}}, training, 3)
	require.EqualError(t, err, "enough")
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
		Experiments: []experiments.Experiment{experiments.Table[0], experiments.Unroll[1]},
		Sizes:       []Size{{2, 2}}, Rounds: 2, Self: []string{os.Args[0]}, Backend: "cpu", Commit: "abc",
	}, results, &out))
	var names []string
	for i, line := range readRecord(t, filepath.Join(results, "bench", "steps.txt")) {
		names = append(names, string(line.Name.Full()))
		require.Equal(t, "abc", line.GetConfig("commit"))
		require.Regexp(t, `^ebssc gomlx ([0-9.]+|unknown), ebssc-plain gomlx ([0-9.]+|unknown)$`, line.GetConfig("versions"))
		trained := strings.HasPrefix(names[i], "Train")
		counted := trained && strings.Contains(names[i], "relu-lc7") // with sweeps the operations are not known
		for unit, want := range map[string]bool{"sec/step": true, "images/s": true, "MiB": runtime.GOOS == "linux",
			"sec/first-step": trained && i%2 == 0, "GFLOP/s": counted, "peak-share": counted} {
			value, ok := line.Value(unit)
			require.Equal(t, want, ok && value > 0, "%s of %s", unit, names[i])
		}
	}
	var want []string
	for _, experiment := range []string{"relu-lc7", "unroll-1"} {
		for _, what := range []string{"Train", "Inference"} {
			for _, program := range []string{"ebssc", "ebssc", "ebssc-plain", "ebssc-plain"} {
				want = append(want, fmt.Sprintf("%s/experiment=%s/batch=2/width=2/program=%s-%d", what, experiment, program, runtime.NumCPU()))
			}
		}
	}
	require.Equal(t, want, names)
	require.Regexp(t, `(?m)^unroll-1 +2 +2 +train +ebssc-plain +\d`, out.String())
}

// What goes wrong in this program's own process is one line that names it and the case.
func TestRunFails(t *testing.T) {
	t.Setenv(roleVar, "own")
	e := experiments.Table[0]
	e.Settings = experiments.Settings{ebssc.ParamBFloat16: "perhaps"}
	plan := Plan{Experiments: []experiments.Experiment{e}, Sizes: []Size{{2, 2}}, Rounds: 1, Self: []string{os.Args[0]}}
	err := Run(t.Context(), plan, t.TempDir(), &strings.Builder{})
	require.ErrorContains(t, err, "relu-lc7, 2x2: ebssc failed: ")
	require.ErrorContains(t, err, ebssc.ParamBFloat16)
	require.NotContains(t, err.Error(), "\n")
	plan.Self = append(plan.Self, "dance")
	require.EqualError(t, Run(t.Context(), plan, t.TempDir(), &strings.Builder{}), `measuring the peak: unknown command "dance"`)
}

// The peak lies between what a core does without vector instructions and what no CPU does.
func TestPeak(t *testing.T) {
	xla, _, err := device.Open(t.Context(), "cpu", 1)
	require.NoError(t, err)
	defer xla.Finalize()
	gflops, err := peakOf(xla, 512)
	require.NoError(t, err)
	require.Greater(t, gflops, 1.)
	require.Less(t, gflops, 1e5)

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err = Plan{Self: []string{os.Args[0]}}.peak(ctx)
	require.EqualError(t, err, "measuring the peak: enough")
}

// A case is read as it was written, and this program writes the variables that the others need.
func TestCase(t *testing.T) {
	t.Setenv(roleVar, "own")
	for _, e := range slices.Concat(experiments.Table[4:], experiments.Unroll[1:2]) {
		c := newCase(e, Size{2, 2})
		folder := t.TempDir()
		require.NoError(t, c.write(folder))
		again, err := readCase(folder)
		require.NoError(t, err)
		require.Equal(t, c.Network, again.Network)
		require.Equal(t, c.Settings, again.Settings)
		require.Equal(t, c.images.Value(), again.images.Value())
		require.Equal(t, c.labels.Value(), again.labels.Value())

		p, err := startPeer(t.Context(), fastProgram, []string{os.Args[0], "serve", folder}, folder)
		require.NoError(t, err)
		require.Len(t, p.scores, 20)
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
