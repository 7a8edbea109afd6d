package train_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// looks is a context that ends when it is looked at once too often. Training looks once at its start, after each step, and after each batch that it
// evaluates.
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

// Runs that are stopped and go on in other processes end with the same record, but for its times, and the same network as without a stop: with
// dropout and augmentation, on one device and on two.
func TestResumeIsBitForBit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		devices int
		traced  bool
		stops   [][2]int // after how many more looks than the one at the start, and at which step it goes on
	}{
		// In mid-epoch, with half of what is measured after an epoch, and in mid-epoch with a damaged checkpoint: it goes on from the epoch's end.
		"one device": {1, true, [][2]int{{2, 3}, {3, 5}, {4, 8}}},
		// In mid-epoch, and at an epoch's end.
		"two devices": {2, false, [][2]int{{2, 3}, {1, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, set := small(t, 3)
			run.Traced = c.traced
			want, network := trained(t, run, set, t.TempDir(), c.devices)
			checkpoints := t.TempDir()
			newest, _ := train.CheckpointFiles(checkpoints, run)
			for _, stop := range c.stops {
				runner, log := newRunner(set, checkpoints)
				runner.Origin.Devices, runner.Origin.Commit = c.devices, "stopped"
				_, _, err := runner.Train(&looks{context.Background(), 1 + stop[0]}, run)
				require.ErrorIs(t, err, context.Canceled)
				require.NotContains(t, log.String(), "not good")
				step, _, err := train.Restore(xla, checkpoints, run)
				require.NoError(t, err)
				require.Equal(t, stop[1], step, log.String())
			}
			if c.devices == 1 {
				require.NoError(t, os.Truncate(newest, 1000))
			}
			got, same := trained(t, run, set, checkpoints, c.devices)
			require.Equal(t, "stopped then test", got.Origin.Commit)
			got.Origin = want.Origin
			require.Equal(t, want, got)
			require.Equal(t, network, same)
		})
	}
}

// trained trains a run to its end, and returns its record without times, and its network's file.
func trained(t *testing.T, run experiments.Run, set *dataset.Set, checkpoints string, devices int) (record.Record, []byte) {
	runner, _ := newRunner(set, checkpoints)
	runner.Origin.Devices = devices
	r, store, err := runner.Train(t.Context(), run)
	require.NoError(t, err)
	defer store.Finalize()
	require.Positive(t, r.Seconds)
	r.Seconds, r.Finished = 0, time.Time{}
	for i := range r.Curve {
		r.Curve[i].Seconds = 0
	}
	file, sums, err := train.EncodeNetwork(run, store)
	require.NoError(t, err)
	r.Network = sums
	return r, file
}

// A run goes on only from a whole checkpoint of its own. Every other one is named and set aside, and the one before it used.
func TestOnlyGoodCheckpointsAreUsed(t *testing.T) {
	t.Parallel()
	run, set := small(t, 3)
	original := t.TempDir()
	runner, _ := newRunner(set, original)
	_, _, err := runner.Train(&looks{context.Background(), 1 + 5 + 1}, run) // leaves steps 5 and 7
	require.ErrorIs(t, err, context.Canceled)
	file, before := train.CheckpointFiles(original, run)
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	head, _, _ := bytes.Cut(good, []byte("\n"))
	replaced := func(content []byte) func(string) error {
		return func(path string) error { return os.WriteFile(path, content, 0o600) }
	}
	_, arrays, _ := bytes.Cut(good, []byte("\n"))
	damages := map[string]func(path string) error{
		"truncated":      replaced(good[:len(good)*9/10]),
		"empty":          replaced(nil),
		"another format": replaced(bytes.Replace(good, []byte("checkpoint 2"), []byte("checkpoint 3"), 1)),
		"no .npz":        replaced(train.Sealed([]byte("null"))),
		"nothing in it":  replaced(train.Sealed(nil)),
		"compressed":     replaced(train.Sealed(rezipped(t, arrays, zip.Deflate, func(n string, c []byte) (string, []byte) { return n, c }))),
		"a pipe":         func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
		"a folder":       func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	}
	all := wrongs()
	for what, edit := range map[string][3]string{
		"fewer steps":    {"progress", `"Steps":2`, `"Steps":1`},
		"negative steps": {"progress", `"Steps":2`, `"Steps":-3`},
		"no progress":    {"progress", `"Steps":2`, `"Steps":`},
		"another moment": {"AdamOptimizer/conv7/offset_1st_moment", "<f4", "<i4"},
	} {
		all[what] = func(name string, content []byte) (string, []byte) {
			if name == edit[0]+".npy" {
				content = bytes.Replace(content, []byte(edit[1]), []byte(edit[2]), 1)
			}
			return name, content
		}
	}
	all["no moment"] = func(name string, content []byte) (string, []byte) {
		if name == "AdamOptimizer/conv7/offset_2nd_moment.npy" {
			return name, nil
		}
		return name, content
	}
	for what, change := range all {
		damages[what] = replaced(train.Sealed(rezipped(t, arrays, zip.Store, change)))
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.CopyFS(folder, os.DirFS(original)))
			newest, previous := train.CheckpointFiles(folder, run)
			require.NoError(t, os.MkdirAll(filepath.Join(newest+".broken", "full"), 0o700)) // of an earlier time
			require.NoError(t, damage(newest))
			step, log, err := train.Restore(xla, folder, run)
			require.NoError(t, err)
			require.Equal(t, 5, step)
			require.Contains(t, log, filepath.Base(newest)+" is not good")
			_, err = os.Lstat(newest + ".broken")
			require.NoError(t, err, "it can be looked at")
			require.NoError(t, damage(previous))
			step, log, err = train.Restore(xla, folder, run)
			require.NoError(t, err)
			require.Zero(t, step, "without a good one, training starts anew")
			require.Contains(t, log, filepath.Base(previous)+" is not good")
			require.Equal(t, 1, strings.Count(log, "\n"), "one line")
			require.NoError(t, train.RemoveCheckpoints(folder, run.ID()))
			left, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	t.Run("random numbers", func(t *testing.T) { // of the epoch that follows, whatever was drawn before
		store, err := train.LoadCheckpoint(xla, run, before)
		require.NoError(t, err)
		for name, purpose := range map[string]experiments.Purpose{"augmentation/state": experiments.Augmentation, "#rngState": experiments.Dropout} {
			state, err := graph.RNGStateFromSeed(run.Stream(purpose, 1))
			require.NoError(t, err)
			require.True(t, state.Equal(store.GetVariable(name).MustValue()), name)
		}
	})
	t.Run("of another run", func(t *testing.T) {
		other := run
		other.Seed++
		_, err := train.LoadCheckpoint(xla, other, file)
		require.ErrorContains(t, err, run.ID())
	})
	t.Run("each flipped byte", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "flipped")
		for at := range len(good) {
			if at > len(head) && at%(len(good)/200) != 0 {
				continue
			}
			flipped := bytes.Clone(good)
			flipped[at] ^= 1 << (at % 8)
			require.NoError(t, os.WriteFile(path, flipped, 0o600))
			_, err := train.LoadCheckpoint(xla, run, path)
			require.Error(t, err, "byte %d", at)
		}
	})
	t.Run("cannot be read now", func(t *testing.T) {
		folder := t.TempDir()
		newest, _ := train.CheckpointFiles(folder, run)
		require.NoError(t, os.Symlink(newest, newest)) // to itself
		_, _, err := train.Restore(xla, folder, run)
		require.ErrorContains(t, err, newest)
		_, err = os.Lstat(newest)
		require.NoError(t, err, "what may be good is not set aside")
	})
}
