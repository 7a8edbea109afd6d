package train_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/checkpoint"
	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
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

// looks is a context that ends when it is looked at once too often. Training looks at its start, after each step and after
// each batch that it evaluates.
type looks struct {
	context.Context
	left int
}

func (l *looks) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}

// A run that is stopped in the middle of an epoch, while an epoch is measured, and whose newest checkpoint is damaged then,
// ends with the same bits and the same curve as one that was not.
func TestResumeIsBitForBit(t *testing.T) {
	set := madeSet(100, 50)
	row := experiments.Table[4]
	row.Traced = true
	run := small(t, row, set, 3)
	lab := &train.Lab{Backend: xla, Set: set}
	train := func(ctx context.Context, runs string) (train.Result, string, error) {
		var log bytes.Buffer
		lab.Log = &log
		result, err := lab.Train(ctx, run, runs)
		return result, log.String(), err
	}
	whole, stopped := t.TempDir(), t.TempDir()
	want, _, err := train(context.Background(), whole)
	require.NoError(t, err)

	for _, stop := range []struct {
		looks int
		step  string // of the checkpoint that it saves
	}{
		{looks: 1 + 2, step: "00000003"},     // two steps of epoch 1, and stopped by the third
		{looks: 1 + 2 + 1, step: "00000005"}, // the other two, half of what is measured, and no line of the curve
		{looks: 1 + 2 + 1, step: "00000007"}, // what is measured, and two steps of epoch 2
	} {
		_, log, err := train(&looks{context.Background(), stop.looks}, stopped)
		require.ErrorIs(t, err, context.Canceled)
		newest := checkpoints(t, stopped, run)
		require.Contains(t, newest[len(newest)-1], "step-"+stop.step)
		require.NotContains(t, log, "checkpoint")
	}
	newest := checkpoints(t, stopped, run)
	require.NoError(t, os.Truncate(newest[len(newest)-1], 1000))
	result, log, err := train(context.Background(), stopped)
	require.NoError(t, err)
	require.Contains(t, log, "set aside")
	require.NotContains(t, log, "epoch 1/3", "finished epochs are not trained again")

	require.Equal(t, want.Predictions, result.Predictions)
	require.Equal(t, want.TrainObjective, result.TrainObjective)
	require.Equal(t, want.TestObjective, result.TestObjective)
	require.Equal(t, variables(t, run, whole), variables(t, run, stopped))
	require.Equal(t, curve(t, run, whole), curve(t, run, stopped))
}

// curve is the text of a run's learning curve without its seconds.
func curve(t *testing.T, run experiments.Run, runs string) string {
	id, err := run.ID()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(runs, id, train.CurveFile))
	require.NoError(t, err)
	seconds := regexp.MustCompile(`(?m)^((?:[^,]*,){4})[^,]*`)
	require.Contains(t, seconds.String(), "4")
	return seconds.ReplaceAllString(string(text), "$1")
}

// stoppedRun trains a run and stops it in its second epoch, which leaves checkpoints of steps 5 and 7.
func stoppedRun(t *testing.T) (run experiments.Run, runs string) {
	set := madeSet(100, 50)
	run, runs = small(t, experiments.Table[0], set, 3), t.TempDir()
	lab := &train.Lab{Backend: xla, Set: set, Log: io.Discard}
	_, err := lab.Train(&looks{context.Background(), 1 + 5 + 1}, run, runs)
	require.ErrorIs(t, err, context.Canceled)
	return run, runs
}

// damage is what is done to the newest checkpoint, files without their suffixes, and what is then said of it.
var damages = map[string]struct {
	says string
	do   func(t *testing.T, run experiments.Run, newest string)
}{
	"data truncated":     {"failed to read variable", func(t *testing.T, _ experiments.Run, c string) { truncate(t, c+".bin", 0.9) }},
	"data empty":         {"EOF", func(t *testing.T, _ experiments.Run, c string) { truncate(t, c+".bin", 0) }},
	"data missing":       {"it has no .bin file", func(t *testing.T, _ experiments.Run, c string) { require.NoError(t, os.Remove(c+".bin")) }},
	"metadata truncated": {"unexpected EOF", func(t *testing.T, _ experiments.Run, c string) { truncate(t, c+".json", 0.9) }},
	"metadata empty":     {"EOF", func(t *testing.T, _ experiments.Run, c string) { truncate(t, c+".json", 0) }},
	"metadata missing":   {"it has no .json file", func(t *testing.T, _ experiments.Run, c string) { require.NoError(t, os.Remove(c+".json")) }},
	"metadata null":      {"nil pointer", func(t *testing.T, _ experiments.Run, c string) { replace(t, c+".json", `(?s).*`, "null") }},
	"variable missing": {"checksum", func(t *testing.T, _ experiments.Run, c string) {
		replace(t, c+".json", `(?s),\s*\{[^{]*\}\s*\]`, "]") // the last one
	}},
	"type unknown": {"Float12", func(t *testing.T, _ experiments.Run, c string) { replace(t, c+".json", "Float32", "Float12") }},
	"size absurd": {"len out of range", func(t *testing.T, _ experiments.Run, c string) {
		replace(t, c+".json", `"Dimensions": null`, `"Dimensions": [1152921504606846976]`)
	}},
	"a bit flipped": {"checksum", func(t *testing.T, _ experiments.Run, c string) {
		data, err := os.ReadFile(c + ".bin")
		require.NoError(t, err)
		data[len(data)/2] ^= 1
		require.NoError(t, os.WriteFile(c+".bin", data, 0o644))
	}},
	"newer format of GoMLX": {"unsupported compression", func(t *testing.T, _ experiments.Run, c string) {
		require.NoError(t, os.WriteFile(c+".bin", []byte("gomlx_checkpointss\x04zstd..."), 0o644))
	}},
	"newer format": {"a newer version of this program wrote it, in format 99", func(t *testing.T, run experiments.Run, c string) {
		rewrite(t, run, c, func(store *model.Store) { reseal(t, store, "Format", 99) })
	}},
	"another run": {"it is of another run, relu-lc7-1-0123456789", func(t *testing.T, run experiments.Run, c string) {
		rewrite(t, run, c, func(store *model.Store) { reseal(t, store, "Run", "relu-lc7-1-0123456789") })
	}},
	"another network": {"it is of another network: ", func(t *testing.T, run experiments.Run, c string) {
		rewrite(t, run, c, func(store *model.Store) {
			require.NoError(t, store.DeleteVariable("#seal"))
			require.NoError(t, store.GetVariable("conv6/offset").SetValue(tensors.FromValue([]float32{1, 2, 3})))
		})
	}},
	"not finite": {"conv6/offset is not finite", func(t *testing.T, run experiments.Run, c string) {
		rewrite(t, run, c, func(store *model.Store) {
			require.NoError(t, store.DeleteVariable("#seal"))
			require.NoError(t, store.GetVariable("conv6/offset").SetValue(tensors.FromValue([]float32{0, 0, 0, 0, 0, 0, 0, float32(math.NaN())})))
		})
	}},
	"of a step that the run does not have": {"it is of step 99", func(t *testing.T, run experiments.Run, c string) {
		rewrite(t, run, c, func(store *model.Store) {
			require.NoError(t, store.DeleteVariable("#seal"))
			require.NoError(t, store.GetVariable("global_step").SetValue(tensors.FromScalar(int64(99))))
		})
	}},
	"in mid-epoch without its progress": {"it is of step 7, 0 of them", func(t *testing.T, run experiments.Run, c string) {
		rewrite(t, run, c, func(store *model.Store) { require.NoError(t, store.DeleteVariable("#seal")) })
	}},
}

// truncate keeps a share of a file.
func truncate(t *testing.T, file string, share float64) {
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(file, int64(share*float64(info.Size()))))
}

// replace replaces what a pattern finds in a file; it must find something.
func replace(t *testing.T, file, pattern, by string) {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	changed := regexp.MustCompile(pattern).ReplaceAll(text, []byte(by))
	require.NotEqual(t, string(text), string(changed))
	require.NoError(t, os.WriteFile(file, changed, 0o644))
}

// rewrite changes the variables of the newest checkpoint, its seal among them.
func rewrite(t *testing.T, run experiments.Run, newest string, change func(store *model.Store)) {
	store := model.NewStore()
	handler, err := checkpoint.Load(store).Dir(filepath.Dir(newest)).Keep(-1).Immediate().WithCompression(checkpoint.BinUncompressed).Done()
	require.NoError(t, err)
	change(store)
	require.NoError(t, handler.Save())
	for _, suffix := range []string{".bin", ".json"} {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(newest), "checkpoint-*"+suffix))
		require.NoError(t, err)
		require.NoError(t, os.Rename(files[len(files)-1], newest+suffix))
	}
}

// reseal changes a field of the seal.
func reseal(t *testing.T, store *model.Store, field string, value any) {
	variable := store.GetVariable("#seal")
	text, err := tensors.CopyFlatData[uint8](variable.MustValue())
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	require.Contains(t, fields, field)
	fields[field] = value
	text, err = json.Marshal(fields)
	require.NoError(t, err)
	require.NoError(t, variable.SetValue(tensors.FromValue(text)))
}

// A run goes on only from what is whole and its own; everything else is named, and kept where it can be looked at.
func TestOnlyGoodFilesAreUsed(t *testing.T) {
	run, original := stoppedRun(t)
	id, err := run.ID()
	require.NoError(t, err)
	// copied is a copy of the run's folder, and its checkpoints' names, oldest first.
	copied := func(t *testing.T) (runs string, names []string) {
		runs = t.TempDir()
		require.NoError(t, os.CopyFS(runs, os.DirFS(original)))
		for _, file := range checkpoints(t, runs, run) {
			names = append(names, strings.TrimSuffix(file, ".bin"))
		}
		require.Len(t, names, 2)
		return runs, names
	}
	restore := func(t *testing.T, runs string) (step int, lines []string, err error) {
		var log bytes.Buffer
		step, err = train.Restore(run, runs, &log)
		return step, strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n"), err
	}
	t.Run("all good", func(t *testing.T) {
		runs, _ := copied(t)
		step, lines, err := restore(t, runs)
		require.NoError(t, err)
		require.Equal(t, 7, step)
		require.Equal(t, []string{""}, lines)
	})
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			runs, names := copied(t)
			damage.do(t, run, names[1])
			step, lines, err := restore(t, runs)
			require.NoError(t, err)
			require.Equal(t, 5, step, lines)
			require.Len(t, lines, 2)
			require.Contains(t, lines[0], filepath.Base(names[1])+" is not good (")
			require.Contains(t, lines[0], damage.says)
			require.Contains(t, lines[1], "going on from checkpoint "+filepath.Base(names[0]))
			aside, err := filepath.Glob(names[1] + ".*.broken")
			require.NoError(t, err)
			require.NotEmpty(t, aside)

			step, lines, err = restore(t, runs)
			require.NoError(t, err)
			require.Equal(t, 5, step)
			require.Equal(t, []string{""}, lines, "it is found once")
		})
	}
	t.Run("none good", func(t *testing.T) {
		runs, names := copied(t)
		for _, name := range names {
			truncate(t, name+".bin", 0.5)
		}
		step, lines, err := restore(t, runs)
		require.NoError(t, err)
		require.Zero(t, step)
		require.Len(t, lines, 3)
		require.Contains(t, lines[2], "there is no good checkpoint: training from the start")
	})
	t.Run("none", func(t *testing.T) {
		runs, names := copied(t)
		require.NoError(t, os.RemoveAll(filepath.Dir(names[0])))
		step, lines, err := restore(t, runs)
		require.NoError(t, err)
		require.Zero(t, step)
		require.Contains(t, lines[0], "training from the start")
	})
	t.Run("cannot be read now", func(t *testing.T) {
		runs, names := copied(t)
		require.NoError(t, os.Remove(names[1]+".bin"))
		require.NoError(t, os.Mkdir(names[1]+".bin", 0o755))
		_, _, err := restore(t, runs)
		require.ErrorContains(t, err, names[1])
		require.FileExists(t, names[1]+".json", "what may be good is not set aside")
	})
	t.Run("not written whole", func(t *testing.T) {
		_, names := copied(t)
		err := train.Secure(filepath.Dir(names[1]), 1<<20)
		require.ErrorContains(t, err, names[1])
		require.ErrorContains(t, err, "in place of 1048576: see whether the disk is full")
	})
	t.Run("curve", func(t *testing.T) {
		runs, _ := copied(t)
		file := filepath.Join(runs, id, train.CurveFile)
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		for length := range whole {
			require.NoError(t, os.WriteFile(file, whole[:length], 0o644))
			_, _, err := restore(t, runs)
			require.ErrorContains(t, err, file, "%d bytes", length)
			require.ErrorContains(t, err, "remove "+filepath.Dir(file))
		}
		require.NoError(t, os.Remove(file))
		_, _, err = restore(t, runs)
		require.ErrorContains(t, err, file)
	})
	t.Run("numbers", func(t *testing.T) {
		runs, names := copied(t)
		for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, err := range []error{train.AfterStep(run, 8, value), train.SaveWith(run, runs, float32(value))} {
				require.Regexp(t, `^(the loss is .*(NaN|Inf)|conv6/offset is not finite) after step \d, learning rate 0.001: try a smaller one with --set=learning_rate=…$`, err.Error())
			}
		}
		require.NoError(t, train.AfterStep(run, 8, 1))
		step, lines, err := restore(t, runs)
		require.NoError(t, err)
		require.Equal(t, 7, step)
		require.Equal(t, []string{""}, lines)
		require.Equal(t, names, namesOf(checkpoints(t, runs, run)), "nothing was written")
		require.NoError(t, train.SaveWith(run, runs, 1))
		require.NotEqual(t, names, namesOf(checkpoints(t, runs, run)))
	})
	t.Run("model of an unfinished run", func(t *testing.T) {
		_, err := train.LoadModel(run, filepath.Join(original, id))
		require.ErrorContains(t, err, "is of step 7, and the run has 15")
	})
}

// A run whose numbers grow beyond all bounds stops, and does not save them.
func TestDivergence(t *testing.T) {
	set := madeSet(100, 50)
	run, runs := small(t, experiments.Table[0], set, 3), t.TempDir()
	run.Settings[experiments.ParamLearningRate] = 1e30
	run.Settings[experiments.ParamBatch] = 100 // a checkpoint a step
	lab := &train.Lab{Backend: xla, Set: set, Log: io.Discard}
	_, err := lab.Train(context.Background(), run, runs)
	require.ErrorContains(t, err, "learning rate 1e+30: try a smaller one with --set=learning_rate=…")
	var log bytes.Buffer
	step, err := train.Restore(run, runs, &log)
	require.NoError(t, err)
	require.Empty(t, log.String())
	require.Positive(t, step)
}

// namesOf are files without their suffixes.
func namesOf(files []string) (names []string) {
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file, filepath.Ext(file)))
	}
	return names
}

// A block of each row of the table, with the operations that it is trained with, ends with the same bits when it is trained
// again.
func TestSameBitsAgain(t *testing.T) {
	set := madeSet(100, 50)
	lab := &train.Lab{Backend: xla, Set: set, Log: io.Discard}
	for _, row := range experiments.Table {
		run := small(t, row, set, 1)
		run.Settings[ebssc.ParamPlainOps] = false
		var trained [2]map[string]any
		for i := range trained {
			runs := t.TempDir()
			// Stopped by the last step: what is measured then, TestResumeIsBitForBit compares.
			_, err := lab.Train(&looks{context.Background(), 1 + 4}, run, runs)
			require.ErrorIs(t, err, context.Canceled)
			trained[i] = variables(t, run, runs)
		}
		require.Equal(t, trained[0], trained[1], row.Name)
	}
}
