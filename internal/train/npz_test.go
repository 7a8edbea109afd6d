package train_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// wrong changes an array of an .npz file, at most its name and its bytes; nil leaves it out.
type wrong func(name string, content []byte) (string, []byte)

// npy is an array with a header that need not fit its data.
func npy(kind, order, shape string, data []byte) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", kind, order, shape)
	header += fmt.Sprintf("%*s\n", (64-(len(header)+11)%64)%64, "")
	return append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header))), append([]byte(header), data...)...)
}

// wrongs are changes after which a file does not have the variables of its run: conv7/offset [K] is another.
func wrongs() map[string]wrong {
	header := func(kind, order, shape string) wrong {
		return func(name string, content []byte) (string, []byte) {
			if name != "conv7/offset.npy" {
				return name, content
			}
			_, data, _ := bytes.Cut(content, []byte("\n"))
			return name, npy(kind, order, shape, data)
		}
	}
	renamed := func(old, new string) wrong {
		return func(name string, content []byte) (string, []byte) {
			if name == old+".npy" {
				name = new + ".npy"
			}
			return name, content
		}
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
		"missing": func(name string, content []byte) (string, []byte) {
			if name == "conv7/offset.npy" {
				return name, nil
			}
			return name, content
		},
		"cut": func(name string, content []byte) (string, []byte) { return name, content[:len(content)-1] },
	}
}

// rezipped is an .npz file after a change of its arrays.
func rezipped(t testing.TB, file []byte, method uint16, change wrong) []byte {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var changed bytes.Buffer
	to := zip.NewWriter(&changed)
	for _, entry := range archive.File {
		from, err := entry.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(from)
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

// network is a made record of a small run with its network's file.
func network(t testing.TB) (r record.Record, file []byte) {
	run, _ := small(t, 1)
	store, err := train.InitialNetwork(xla, run)
	require.NoError(t, err)
	defer store.Finalize()
	file, sums, err := train.EncodeNetwork(run, store)
	require.NoError(t, err)
	return record.Record{ID: run.ID(), Run: run, Network: sums}, file
}

// FuzzNetwork: a file with the checksum in its record, but not the run's variables, is an error of one line, whatever it holds. It takes little
// memory.
func FuzzNetwork(f *testing.F) {
	r, good := network(f)
	folder := f.TempDir()
	path := train.NetworkFile(folder, r.ID)
	require.NoError(f, os.MkdirAll(filepath.Dir(path), 0o755))
	same := func(name string, content []byte) (string, []byte) { return name, content }
	f.Add(rezipped(f, good, zip.Store, same))
	f.Add(rezipped(f, good, zip.Deflate, same))
	for _, change := range wrongs() {
		f.Add(rezipped(f, good, zip.Store, change))
	}
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, file []byte) {
		require.NoError(t, os.WriteFile(path, file, 0o600))
		r.Network.SHA256 = train.Checksum(file)
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

// FuzzCheckpoint: a checkpoint with a right checksum that is not one of the run is an error of one line, whatever it holds.
func FuzzCheckpoint(f *testing.F) {
	_, good := network(f)
	run, _ := small(f, 1)
	path := filepath.Join(f.TempDir(), "fuzzed")
	for _, change := range wrongs() {
		f.Add(rezipped(f, good, zip.Store, change))
	}
	f.Add(good)
	f.Fuzz(func(t *testing.T, arrays []byte) {
		require.NoError(t, os.WriteFile(path, train.Sealed(arrays), 0o600))
		_, err := train.LoadCheckpoint(xla, run, path)
		require.Error(t, err, "no one writes a checkpoint by chance")
		require.NotContains(t, err.Error(), "\n")
	})
}
