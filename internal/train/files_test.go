package train_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gomlx/compute/dtypes/float16"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/stretchr/testify/require"

	"ebsscgo/internal/filetest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/train"
)

// A run goes on only from a whole checkpoint of its own. Every other one is named and set aside,
// and the one before it used.
func TestOnlyGoodCheckpointsAreUsed(t *testing.T) {
	t.Parallel()
	run, set := small(t, 3)
	original := t.TempDir()
	runner, _ := newRunner(set, original)
	// leaves steps 5 and 7
	_, _, err := runner.Train(&looks{context.Background(), 1 + 5 + 1}, run, train.Place{})
	require.ErrorIs(t, err, context.Canceled)
	file, _ := train.CheckpointFiles(original, run)
	good := []byte(filetest.Read(t, file))
	head, arrays, _ := bytes.Cut(good, []byte("\n"))
	replaced := func(content []byte) func(string) error {
		return func(path string) error { return os.WriteFile(path, content, 0o600) }
	}
	damages := map[string]func(path string) error{
		"truncated": replaced(good[:len(good)*9/10]),
		"empty":     replaced(nil),
		"another format": replaced(bytes.Replace(good, []byte("checkpoint 2"),
			[]byte("checkpoint 3"), 1)),
		"no .npz":       replaced(train.Sealed([]byte("null"))),
		"nothing in it": replaced(train.Sealed(nil)),
		"compressed":    replaced(train.Sealed(rezipped(t, arrays, zip.Deflate, same))),
		"a pipe": func(path string) error {
			return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600))
		},
		"a folder": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		},
	}
	changes := map[string]wrong{
		"fewer steps":    edited("progress", `"Steps":2`, `"Steps":1`),
		"negative steps": edited("progress", `"Steps":2`, `"Steps":-3`),
		"no progress":    edited("progress", `"Steps":2`, `"Steps":`),
		"another run":    edited("progress", run.ID(), strings.Replace(run.ID(), "-1-", "-2-", 1)),
		"another moment": edited("AdamOptimizer/conv7/offset_1st_moment", "<f4", "<i4"),
		"no moment":      without("AdamOptimizer/conv7/offset_2nd_moment"),
	}
	maps.Copy(changes, wrongs())
	for what, change := range changes {
		damages[what] = replaced(train.Sealed(rezipped(t, arrays, zip.Store, change)))
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.CopyFS(folder, os.DirFS(original)))
			newest, previous := train.CheckpointFiles(folder, run)
			// of an earlier time
			require.NoError(t, os.MkdirAll(filepath.Join(newest+".broken", "full"), 0o700))
			for _, at := range []struct {
				path string
				step int
			}{{newest, 5}, {previous, 0}} { // without a good one, training starts anew
				require.NoError(t, damage(at.path))
				step, log, err := train.Restore(golang, folder, run)
				require.NoError(t, err)
				require.Equal(t, at.step, step)
				require.Contains(t, log, filepath.Base(at.path)+" is not good")
				require.Equal(t, 1+min(step, 1), strings.Count(log, "\n"), "a line each")
				_, err = os.Lstat(at.path + ".broken")
				require.NoError(t, err, "it can be looked at")
			}
			require.NoError(t, train.RemoveCheckpoints(folder, run.ID()))
			left, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	t.Run("each flipped byte", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "flipped")
		// each of the head, and some of the arrays
		for at := 0; at < len(good); at += 1 + min(1, at/len(head))*len(good)/200 {
			flipped := bytes.Clone(good)
			flipped[at] ^= 1 << (at % 8)
			filetest.Write(t, path, flipped)
			_, err := train.LoadCheckpoint(golang, run, path)
			require.Error(t, err, "byte %d", at)
		}
	})
	t.Run("cannot be read now", func(t *testing.T) {
		folder := t.TempDir()
		newest, _ := train.CheckpointFiles(folder, run)
		require.NoError(t, os.Symlink(newest, newest)) // to itself
		_, _, err := train.Restore(golang, folder, run)
		require.ErrorContains(t, err, newest)
		_, err = os.Lstat(newest)
		require.NoError(t, err, "what may be good is not set aside")
	})
}

// A network's file is read if it is the one in its record, or that in half precision, and has
// exactly the variables of the run's network.
func TestNetworkFiles(t *testing.T) {
	r, good, variables := network(t)
	folder := t.TempDir()
	path := record.NetworkFile(folder, r.ID)
	// loaded requires that the network in a file has the wanted variables, in float32, but for a
	// difference.
	loaded := func(file []byte, delta float64) {
		filetest.Write(t, path, file)
		store, err := train.LoadNetwork(r, folder)
		require.NoError(t, err)
		got := r.Run.Network.Variables(store)
		require.Len(t, got, len(variables))
		for name := range variables {
			require.True(t, variables[name].InDelta(got[name], delta), name)
		}
	}
	loaded(good, 0)
	arrays, err := numpy.FromNpzReader(bytes.NewReader(good), int64(len(good)))
	require.NoError(t, err)
	delete(arrays, "run")
	for name := range variables {
		arrays[name] = train.Halved(arrays[name])
	}
	half, err := train.WriteArrays(arrays, "run", r.Run)
	require.NoError(t, err)
	loaded(half, 1e-3)
	halved := train.Halved(tensors.FromValue([]float32{6e-8, -3e-5, 1e-9, 2.9e-8, 65504}))
	tiny := tensors.MustCopyFlatData[float16.Float16](halved)
	require.Equal(t, []float16.Float16{1, 0x8000 + 503, 0, 0, 0x7bff}, tiny,
		"numbers below 2⁻¹⁴ are rounded to multiples of 2⁻²⁴")

	for what, change := range wrongs() {
		file, matching := rezipped(t, good, zip.Store, change), r
		filetest.Write(t, path, file)
		_, err := train.LoadNetwork(r, folder)
		require.ErrorContains(t, err, "SHA-256", what)
		matching.Network.SHA256 = safefile.Sum(file) // as if it had been recorded so
		_, err = train.LoadNetwork(matching, folder)
		require.ErrorContains(t, err, path+" is not good", what)
	}
	// Whatever stands beside the arrays in a zip is refused, also where readers pass over it.
	end := bytes.LastIndex(good, []byte("PK\x05\x06"))
	commented := append(bytes.Clone(good), 'x')
	commented[end+20] = 1
	for what, file := range map[string][]byte{
		"text before":                append([]byte("before"), good...),
		"text after":                 append(bytes.Clone(good), "after"...),
		"a comment":                  commented,
		"a size in the first header": overwritten(good, 22, 1),
		"a name in the first header": overwritten(good, 31, 'x'),
		"a flag":                     overwritten(good, 6, good[6]|1),
	} {
		matching := r
		matching.Network.SHA256 = safefile.Sum(file)
		filetest.Write(t, path, file)
		_, err := train.LoadNetwork(matching, folder)
		require.Error(t, err, what)
	}
	require.NoError(t, os.Remove(path))
	_, err = train.LoadNetwork(r, folder)
	require.ErrorContains(t, err, "is not here")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err = train.LoadNetwork(r, folder)
	require.ErrorContains(t, err, "no regular file")
}

// The networks that are committed have a record, and are read.
func TestCommittedNetworks(t *testing.T) {
	whitening, err := filepath.Glob(record.NetworkFile("../../results/weekend", "whitening-*"))
	require.NoError(t, err)
	require.Len(t, whitening, 1, "classify's network has its whitening beside it")
	for _, folder := range []string{"../../results/quick", "../../results/weekend"} {
		records, err := record.LoadAll(filepath.Join(folder, record.Folder))
		require.NoError(t, err)
		networks, err := filepath.Glob(record.NetworkFile(folder, "*"))
		require.NotEmpty(t, networks, err)
		whitenings := 0
		for _, path := range networks {
			if strings.HasPrefix(filepath.Base(path), "whitening-") {
				whitenings++
				continue
			}
			r, ok := records[strings.TrimSuffix(filepath.Base(path), ".npz")]
			require.True(t, ok, path)
			_, err := train.LoadNetwork(r, folder)
			require.NoError(t, err)
			if whitening, err := train.LoadWhitening(xla, folder, r.Run); whitening != nil {
				require.NoError(t, err)
				whitenings--
			}
		}
		require.LessOrEqual(t, whitenings, 0, "a whitening is of no network")
	}
}

// wrong changes an array of an .npz file, at most its name and its bytes; nil leaves it out.
type wrong func(name string, content []byte) (string, []byte)

// wrongs returns changes after which a file does not have the variables of its run: another
// conv7/offset [K].
func wrongs() map[string]wrong {
	header := func(kind, order, shape string) wrong {
		return on("conv7/offset", func(name string, content []byte) (string, []byte) {
			_, data, _ := bytes.Cut(content, []byte("\n"))
			dictionary := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }",
				kind, order, shape)
			return name, fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n%s", dictionary, data)
		})
	}
	renamed := func(old, new string) wrong {
		return on(old, func(_ string, content []byte) (string, []byte) { return new + ".npy", content })
	}
	return map[string]wrong{
		"negative":    header("<f4", "False", "(-8,)"),
		"huge":        header("<f4", "False", "(100000000000,)"),
		"overflowing": header("<f4", "False", "(4611686018427387905, 4)"),
		"reshaped":    header("<f4", "False", "(1, 8)"),
		"no numbers":  header("<i4", "False", "(8,)"),
		"larger":      header("<f8", "False", "(4,)"),
		"of another":  header("|S4", "False", "(8,)"),
		"by columns":  header("<f4", "True", "(8,)"),
		"renamed":     renamed("conv7/offset", "conv7/offsets"),
		"elsewhere":   renamed("conv7/offset", "../offset"),
		"twice":       renamed("conv7/thresholds", "conv7/offset"),
		"missing":     without("conv7/offset"),
		"cut": func(name string, content []byte) (string, []byte) {
			return name, content[:len(content)-1]
		},
		"no number": ending("conv7/offset", math.NaN()),
		"infinite":  ending("conv7/offset", math.Inf(-1)),
	}
}

// overwritten returns a file with another byte at a place.
func overwritten(file []byte, at int, value byte) []byte {
	changed := bytes.Clone(file)
	changed[at] = value
	return changed
}

// ending gives an array another last number.
func ending(array string, number float64) wrong {
	return on(array, func(name string, content []byte) (string, []byte) {
		before := slices.Clip(content[:len(content)-4])
		return name, binary.LittleEndian.AppendUint32(before, math.Float32bits(float32(number)))
	})
}

// same changes nothing.
func same(name string, content []byte) (string, []byte) { return name, content }

// on makes a change of one array.
func on(array string, change wrong) wrong {
	return func(name string, content []byte) (string, []byte) {
		if name == array+".npy" {
			return change(name, content)
		}
		return name, content
	}
}

// edited replaces a text in an array.
func edited(array, old, new string) wrong {
	return on(array, func(name string, content []byte) (string, []byte) {
		return name, bytes.Replace(content, []byte(old), []byte(new), 1)
	})
}

// without leaves an array out.
func without(array string) wrong {
	return on(array, func(name string, _ []byte) (string, []byte) { return name, nil })
}

// rezipped returns an .npz file after a change of its arrays.
func rezipped(t testing.TB, file []byte, method uint16, change wrong) []byte {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var changed bytes.Buffer
	to := zip.NewWriter(&changed)
	for _, entry := range archive.File {
		content, err := fs.ReadFile(archive, entry.Name)
		require.NoError(t, err)
		name, content := change(entry.Name, content)
		if content == nil {
			continue
		}
		array, err := to.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		require.NoError(t, err)
		_, err = array.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, to.Close())
	return changed.Bytes()
}

// network makes a record of a small run before training, with its network's file and variables.
func network(t testing.TB) (r record.Record, file []byte, variables map[string]*tensors.Tensor) {
	run, _ := small(t, 1)
	store, err := train.InitialNetwork(golang, run)
	require.NoError(t, err)
	file, sums, err := train.EncodeNetwork(run, store)
	require.NoError(t, err)
	return record.Record{ID: run.ID(), Run: run, Network: sums}, file, run.Network.Variables(store)
}

// FuzzNetwork: a file with the checksum in its record, but not the run's variables, is an error of
// one line, whatever it holds, and takes little memory. No network is a checkpoint.
func FuzzNetwork(f *testing.F) {
	r, good, _ := network(f)
	folder := f.TempDir()
	path := record.NetworkFile(folder, r.ID)
	f.Add(good)
	f.Add(rezipped(f, good, zip.Deflate, same))
	for _, change := range wrongs() {
		f.Add(rezipped(f, good, zip.Store, change))
	}
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, file []byte) {
		filetest.Write(t, path, train.Sealed(file))
		_, err := train.LoadCheckpoint(golang, r.Run, path)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "\n")
		filetest.Write(t, path, file)
		r.Network.SHA256 = safefile.Sum(file)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		store, err := train.LoadNetwork(r, folder)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20+8*len(file)))
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		again, _, err := train.EncodeNetwork(r.Run, store)
		require.NoError(t, err)
		require.Len(t, again, len(good), "what is loaded has the variables of the run")
	})
}
