package train_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// small is a run of a row with a pool and one block, that with the row's classifier, which compile in a second or two; an epoch
// has five steps.
func small(t testing.TB, row experiments.Experiment, set *dataset.Set, epochs int) experiments.Run {
	run := plan(t, row, set, epochs)
	all := run.Network.Layers
	run.Network.Layers = []ebssc.Layer{all[2], all[len(all)-2]}
	run.Settings[experiments.ParamWhiten] = false
	require.Equal(t, 5, run.StepsPerEpoch())
	return run
}

// withMuon adds the row's last block to a run of one: Muon trains the dictionaries above the first.
func withMuon(run experiments.Run, row experiments.Experiment) experiments.Run {
	all := row.Network(4).Layers // as wide as plan's
	run.Network.Layers = append(run.Network.Layers, all[len(all)-1])
	return run
}

// looks is a context that ends when it is looked at once too often. Training looks beforeSteps times at its start, after each step and after
// each batch that it evaluates.
type looks struct {
	context.Context
	left int
}

// beforeSteps is how often training looks before its first step: before it prepares the images, and after that.
const beforeSteps = 2

func (l *looks) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// newest and previous are the run's checkpoints.
func newest(run experiments.Run, folder string) string {
	return filepath.Join(folder, train.Checkpoints, run.ID()+".npz")
}
func previous(run experiments.Run, folder string) string {
	return filepath.Join(folder, train.Checkpoints, run.ID()+".previous.npz")
}

// A run that is stopped in the middle of an epoch, while an epoch is measured, and whose newest checkpoint is damaged then,
// ends with the same bits and the same curve as one that was not.
func TestResumeIsBitForBit(t *testing.T) {
	set := madeSet(100, 50)
	row := experiments.Table[4]
	row.Traced = true
	run := withMuon(small(t, row, set, 3), row)
	runner := &train.Runner{Backend: xla, Set: set, Origin: record.Origin{Commit: "one", CPU: "a CPU", Cores: 1}}
	var variables map[string]any
	execute := func(ctx context.Context, folder string) (record.Record, string, error) {
		var log bytes.Buffer
		runner.Log = &log
		result, err := runner.Train(ctx, run, folder, func(context.Context, *record.Record) error {
			variables = train.Variables(t, newest(run, folder)) // the optimizer's, too
			return nil
		})
		return result, log.String(), err
	}
	whole, stopped := t.TempDir(), t.TempDir()
	want, _, err := execute(context.Background(), whole)
	require.NoError(t, err)
	wanted := variables
	require.Contains(t, wanted, "muon/conv7/momentum")
	require.Equal(t, runner.Origin, want.Origin)

	for _, stop := range []struct{ looks, step int }{
		{beforeSteps + 2, 3},     // two steps of epoch 1, and stopped by the third
		{beforeSteps + 2 + 1, 5}, // the other two, half of what is measured, and no point of the curve
		{beforeSteps + 2 + 1, 7}, // what is measured, and two steps of epoch 2
	} {
		_, log, err := execute(&looks{context.Background(), stop.looks}, stopped)
		require.ErrorIs(t, err, context.Canceled)
		step, err := train.Restore(run, stopped, io.Discard)
		require.NoError(t, err)
		require.Equal(t, stop.step, step)
		require.NotContains(t, log, "checkpoint")
	}
	require.NoError(t, os.Truncate(newest(run, stopped), 1000))
	unfinished := filepath.Join(stopped, train.Checkpoints, "."+run.ID()+".npz123")
	require.NoError(t, os.WriteFile(unfinished, nil, 0o600)) // of a kill while a checkpoint was written
	runner.Origin = record.Origin{Commit: "two", CPU: "a CPU", Cores: 1000}
	result, log, err := execute(context.Background(), stopped)
	require.NoError(t, err)
	require.Equal(t, record.Origin{Commit: "one then two", CPU: "a CPU", Cores: result.Origin.Cores}, result.Origin)
	require.Greater(t, result.Origin.Cores, 1, "the mean over the seconds")
	require.Less(t, result.Origin.Cores, 1000)
	require.NoFileExists(t, unfinished)
	require.Contains(t, log, "set aside")
	require.Contains(t, log, "epoch 3 of 3")

	require.Equal(t, want.Predictions, result.Predictions)
	require.Equal(t, want.TrainObjective, result.TrainObjective)
	require.Equal(t, want.TestObjective, result.TestObjective)
	require.Equal(t, wanted, variables)
	require.NoFileExists(t, newest(run, stopped), "nothing goes on from a finished run's checkpoints")
	require.NoFileExists(t, previous(run, stopped))
	require.Equal(t, withoutSeconds(want.Curve), withoutSeconds(result.Curve))
}

// A computer that measures a run which another one trained rounds otherwise. The last point of the curve takes the error that it measures.
func TestMeasuredElsewhere(t *testing.T) {
	set := madeSet(100, 50)
	row := experiments.Table[0]
	row.Traced = true
	run, runs := small(t, row, set, 2), t.TempDir()
	runner := &train.Runner{Backend: xla, Set: set, Log: io.Discard}
	failing := errors.New("no disk")
	_, err := runner.Train(context.Background(), run, runs, func(context.Context, *record.Record) error {
		return failing // after the last epoch, whose checkpoint stays
	})
	require.ErrorIs(t, err, failing)
	require.NoError(t, train.Rewrite(newest(run, runs), func(_ map[string]*tensors.Tensor, progress map[string]any) {
		curve := progress["Curve"].([]any)
		trace := curve[len(curve)-1].(map[string]any)["Trace"].(map[string]any)
		trace["TestErr"] = trace["TestErr"].(float64) + 2 // one image of 50
	}))
	r, err := runner.Train(context.Background(), run, runs, nil)
	require.NoError(t, err)
	require.Equal(t, r.TestErr, r.Curve[1].Trace.TestErr)
}

// withoutSeconds is a learning curve as it does not depend on the machine's speed.
func withoutSeconds(curve []record.Epoch) (points []record.Epoch) {
	for _, point := range curve {
		point.Seconds = 0
		points = append(points, point)
	}
	return points
}

// stoppedRun trains a run and stops it in its second epoch, which leaves checkpoints of steps 5 and 7.
func stoppedRun(t *testing.T) (run experiments.Run, runs string) {
	set := madeSet(100, 50)
	run, runs = small(t, experiments.Table[0], set, 3), t.TempDir()
	runner := &train.Runner{Backend: xla, Set: set, Log: io.Discard}
	_, err := runner.Train(&looks{context.Background(), beforeSteps + 5 + 1}, run, runs, nil)
	require.ErrorIs(t, err, context.Canceled)
	return run, runs
}

// damages are done to the newest checkpoint; says is what the program says of it then.
var damages = map[string]struct {
	says string
	do   func(t *testing.T, file string)
}{
	"truncated":   {"zip: not a valid zip file", func(t *testing.T, file string) { truncate(t, file, 0.9) }},
	"empty":       {"zip: not a valid zip file", func(t *testing.T, file string) { truncate(t, file, 0) }},
	"no zip file": {"zip: not a valid zip file", func(t *testing.T, file string) { require.NoError(t, os.WriteFile(file, []byte("null"), 0o644)) }},
	"a bit flipped": {"conv6/dictionary.npy: ", func(t *testing.T, file string) {
		archive, err := zip.OpenReader(file)
		require.NoError(t, err)
		defer archive.Close()
		for _, entry := range archive.File {
			if entry.Name == "conv6/dictionary.npy" {
				start, err := entry.DataOffset()
				require.NoError(t, err)
				flip(t, file, start+int64(entry.CompressedSize64)/2)
			}
		}
	}},
	"not numpy's": {"failed to read", func(t *testing.T, file string) {
		var archive bytes.Buffer
		w := zip.NewWriter(&archive)
		entry, err := w.Create("progress.npy")
		require.NoError(t, err)
		_, err = entry.Write([]byte("not an array"))
		require.NoError(t, errors.Join(err, w.Close()))
		require.NoError(t, os.WriteFile(file, archive.Bytes(), 0o644))
	}},
	"variable missing": {"it has the variables [", func(t *testing.T, file string) {
		rewrite(t, file, func(arrays map[string]*tensors.Tensor, _ map[string]any) { delete(arrays, "conv6/offset") })
	}},
	"variable renamed": {"it has the variables [", func(t *testing.T, file string) {
		rewrite(t, file, func(arrays map[string]*tensors.Tensor, _ map[string]any) {
			arrays["conv6/onset"] = arrays["conv6/offset"]
			delete(arrays, "conv6/offset")
		})
	}},
	"progress missing": {"its progress cannot be read", func(t *testing.T, file string) {
		rewrite(t, file, func(arrays map[string]*tensors.Tensor, _ map[string]any) { delete(arrays, "progress") })
	}},
	"newer format": {"a newer version of this program wrote it, in format 99", func(t *testing.T, file string) {
		rewrite(t, file, func(_ map[string]*tensors.Tensor, progress map[string]any) { progress["Format"] = 99 })
	}},
	"another run": {"it is of another run, relu-lc7-1-0123456789", func(t *testing.T, file string) {
		rewrite(t, file, func(_ map[string]*tensors.Tensor, progress map[string]any) { progress["Run"] = "relu-lc7-1-0123456789" })
	}},
	"another network": {"it is of another network: ", func(t *testing.T, file string) {
		rewrite(t, file, func(arrays map[string]*tensors.Tensor, _ map[string]any) {
			arrays["conv6/offset"] = tensors.FromValue([]float32{1, 2, 3})
		})
	}},
	"not finite": {"conv6/offset is not finite", func(t *testing.T, file string) {
		rewrite(t, file, func(arrays map[string]*tensors.Tensor, _ map[string]any) {
			arrays["conv6/offset"] = tensors.FromValue([]float32{0, 0, 0, 0, 0, 0, 0, float32(math.NaN())})
		})
	}},
	"of a step that the run does not have": {"it is of step 99", func(t *testing.T, file string) {
		rewrite(t, file, func(arrays map[string]*tensors.Tensor, _ map[string]any) {
			arrays["global_step"] = tensors.FromScalar(int64(99))
		})
	}},
	"in mid-epoch without its steps": {"it is of step 7, after 1 epochs and 0 steps", func(t *testing.T, file string) {
		rewrite(t, file, func(_ map[string]*tensors.Tensor, progress map[string]any) { progress["Steps"] = 0 })
	}},
	"an epoch of the curve missing": {"it is of step 7, after 0 epochs and 2 steps", func(t *testing.T, file string) {
		rewrite(t, file, func(_ map[string]*tensors.Tensor, progress map[string]any) { progress["Curve"] = nil })
	}},
}

// rewrite changes a checkpoint's arrays and progress.
func rewrite(t *testing.T, file string, change func(arrays map[string]*tensors.Tensor, progress map[string]any)) {
	require.NoError(t, train.Rewrite(file, change))
}

// flip changes a bit of a byte of a file.
func flip(t *testing.T, file string, at int64) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	data[at] ^= 1
	require.NoError(t, os.WriteFile(file, data, 0o644))
}

// truncate keeps a share of a file.
func truncate(t *testing.T, file string, share float64) {
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(file, int64(share*float64(info.Size()))))
}

// A run goes on only from a whole checkpoint of its own. Every other one is named, and kept where it can be looked at.
func TestOnlyGoodFilesAreUsed(t *testing.T) {
	run, original := stoppedRun(t)
	copied := func(t *testing.T) (folder string) {
		folder = t.TempDir()
		require.NoError(t, os.CopyFS(folder, os.DirFS(original)))
		return folder
	}
	restore := func(t *testing.T, folder string) (step int, lines []string, err error) {
		var log bytes.Buffer
		step, err = train.Restore(run, folder, &log)
		return step, strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n"), err
	}
	resumed := func(step int, path string) string {
		return fmt.Sprintf("%s: resumed at step %d of %d, from %s", run.ID(), step, run.Epochs*run.StepsPerEpoch(), filepath.Base(path))
	}
	t.Run("all good", func(t *testing.T) {
		folder := copied(t)
		step, lines, err := restore(t, folder)
		require.NoError(t, err)
		require.Equal(t, 7, step)
		require.Equal(t, []string{resumed(7, newest(run, folder))}, lines)
	})
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			folder := copied(t)
			damage.do(t, newest(run, folder))
			step, lines, err := restore(t, folder)
			require.NoError(t, err)
			require.Equal(t, 5, step, lines)
			require.Len(t, lines, 2)
			require.Contains(t, lines[0], filepath.Base(newest(run, folder))+" is not good (")
			require.Contains(t, lines[0], damage.says)
			require.Contains(t, lines[0], "set aside as "+filepath.Base(newest(run, folder))+".broken")
			require.Equal(t, resumed(5, previous(run, folder)), lines[1])
			require.FileExists(t, newest(run, folder)+".broken")

			step, lines, err = restore(t, folder)
			require.NoError(t, err)
			require.Equal(t, 5, step)
			require.Equal(t, []string{resumed(5, previous(run, folder))}, lines, "it is found once")
		})
	}
	t.Run("none good", func(t *testing.T) {
		folder := copied(t)
		truncate(t, newest(run, folder), 0.5)
		truncate(t, previous(run, folder), 0.5)
		step, lines, err := restore(t, folder)
		require.NoError(t, err)
		require.Zero(t, step)
		require.Len(t, lines, 3)
		require.Contains(t, lines[2], "there is no good checkpoint: training from the start")
	})
	t.Run("killed between two renames", func(t *testing.T) {
		folder := copied(t)
		require.NoError(t, os.Remove(newest(run, folder)))
		step, lines, err := restore(t, folder)
		require.NoError(t, err)
		require.Equal(t, 5, step)
		require.Equal(t, []string{resumed(5, previous(run, folder))}, lines)
	})
	t.Run("cannot be read now", func(t *testing.T) {
		folder := copied(t)
		require.NoError(t, os.Remove(newest(run, folder)))
		require.NoError(t, os.Mkdir(newest(run, folder), 0o755))
		_, _, err := restore(t, folder)
		require.ErrorContains(t, err, newest(run, folder))
		require.NoDirExists(t, newest(run, folder)+".broken", "what may be good is not set aside")
	})
	t.Run("bits", func(t *testing.T) {
		folder := copied(t)
		file := newest(run, folder)
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		good, err := train.Curve(run, file)
		require.NoError(t, err)
		for i := range 300 {
			require.NoError(t, os.WriteFile(file, whole, 0o644))
			flip(t, file, int64(i*len(whole)/300))
			curve, err := train.Curve(run, file)
			if err == nil { // a bit that numbers do not depend on, such as a file's date
				require.Equal(t, good, curve)
			}
		}
	})
	t.Run("numbers", func(t *testing.T) {
		folder := copied(t)
		before, err := os.ReadFile(newest(run, folder))
		require.NoError(t, err)
		for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, err := range []error{train.AfterStep(run, 8, value), train.SaveWith(run, folder, float32(value))} {
				require.ErrorAs(t, err, new(train.Diverged))
				require.Regexp(t, `diverged: (the loss is .*(NaN|Inf)|conv6/offset is not finite) after step \d with learning_rate=0.001;muon_rate=0.01; try smaller rates with --set$`, err.Error())
			}
		}
		require.NoError(t, train.AfterStep(run, 8, 1))
		after, err := os.ReadFile(newest(run, folder))
		require.NoError(t, err)
		require.Equal(t, before, after, "nothing was written")
		require.NoError(t, train.SaveWith(run, folder, 1))
		after, err = os.ReadFile(newest(run, folder))
		require.NoError(t, err)
		require.NotEqual(t, before, after)
		kept, err := os.ReadFile(previous(run, folder))
		require.NoError(t, err)
		require.Equal(t, before, kept)
	})
	t.Run("model of an unfinished run", func(t *testing.T) {
		_, err := train.LoadModel(run, original)
		require.ErrorContains(t, err, "is not here")
	})
	t.Run("network of another run", func(t *testing.T) {
		folder, other := t.TempDir(), run
		other.Seed++
		require.NoError(t, os.MkdirAll(filepath.Join(folder, train.Networks), 0o755))
		require.NoError(t, os.Rename(newest(run, copied(t)), train.NetworkFile(folder, other.ID())))
		_, err := train.LoadModel(other, folder)
		require.ErrorContains(t, err, "is not good (its run cannot be read")
		truncate(t, train.NetworkFile(folder, other.ID()), 0.9)
		_, err = train.LoadModel(other, folder)
		require.ErrorContains(t, err, "is not good (zip")
	})
	t.Run("no model", func(t *testing.T) {
		_, err := train.LoadModel(run, t.TempDir())
		require.ErrorContains(t, err, "the trained network of "+run.ID()+" is not here")
	})
}

// A run whose numbers grow beyond all bounds stops, and does not save them.
func TestDivergence(t *testing.T) {
	set := madeSet(100, 50)
	run, runs := small(t, experiments.Table[0], set, 3), t.TempDir()
	run.Settings[experiments.ParamLearningRate] = 1e30
	run.Settings[experiments.ParamBatch] = 100 // a checkpoint a step
	runner := &train.Runner{Backend: xla, Set: set, Log: io.Discard}
	_, err := runner.Train(context.Background(), run, runs, nil)
	require.ErrorContains(t, err, "with learning_rate=1e+30;muon_rate=0.01; try smaller rates with --set")
	var log bytes.Buffer
	step, err := train.Restore(run, runs, &log)
	require.NoError(t, err)
	require.Contains(t, log.String(), "resumed at step")
	require.NotContains(t, log.String(), "not good")
	require.Positive(t, step)
	// Numbers that overflow in an evaluation alone.
	run.Traced = true
	_, err = runner.Train(context.Background(), run, t.TempDir(), nil)
	require.ErrorAs(t, err, new(train.Diverged))
	require.ErrorContains(t, err, "the objective is")
}

// A block of each row of the table, with the operations that it is trained with, ends with the same bits when it is trained
// again.
func TestSameBitsAgain(t *testing.T) {
	set := madeSet(100, 50)
	runner := &train.Runner{Backend: xla, Set: set, Log: io.Discard}
	for _, row := range experiments.Table {
		run := small(t, row, set, 1)
		run.Settings[ebssc.ParamPlainOps] = false
		var trained [2]map[string]any
		for i := range trained {
			runs := t.TempDir()
			// Stopped by the last step: what is measured then, TestResumeIsBitForBit compares.
			_, err := runner.Train(&looks{context.Background(), beforeSteps + 4}, run, runs, nil)
			require.ErrorIs(t, err, context.Canceled)
			trained[i] = train.Variables(t, newest(run, runs))
		}
		require.Equal(t, trained[0], trained[1], row.Name)
	}
}
