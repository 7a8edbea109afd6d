package train_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/stretchr/testify/require"

	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// A network's file has the same bytes whenever it is written. It is read if it is the one in its record, or that in half precision, and has exactly
// the variables of the run's network.
func TestNetworkFiles(t *testing.T) {
	run, _ := small(t, 1)
	store, err := train.InitialNetwork(xla, run)
	require.NoError(t, err)
	defer store.Finalize()
	variables := run.Network.Variables(store)
	good, sums, err := train.EncodeNetwork(run, store)
	require.NoError(t, err)
	folder := t.TempDir()
	r := record.Record{ID: run.ID(), Run: run, Network: writeNetwork(t, folder, run, store)}
	require.Equal(t, sums, r.Network)
	require.Equal(t, train.Checksum(good), sums.SHA256)
	path := train.NetworkFile(folder, r.ID)
	loaded, err := train.LoadNetwork(r, folder)
	require.NoError(t, err)
	requireVariables(t, variables, run.Network.Variables(loaded), 0)

	// changed is the file after a change of its arrays.
	changed := func(change func(arrays map[string]*tensors.Tensor)) []byte {
		arrays, err := numpy.FromNpzReader(bytes.NewReader(good), int64(len(good)))
		require.NoError(t, err)
		delete(arrays, "run")
		change(arrays)
		file, err := train.WriteArrays(arrays, "run", run)
		require.NoError(t, err)
		return file
	}
	half := changed(func(arrays map[string]*tensors.Tensor) {
		for name := range variables {
			arrays[name] = train.Halved(arrays[name])
		}
	})
	require.Equal(t, sums.HalfSHA256, train.Checksum(half))
	require.NoError(t, os.WriteFile(path, half, 0o600))
	loaded, err = train.LoadNetwork(r, folder)
	require.NoError(t, err)
	requireVariables(t, variables, run.Network.Variables(loaded), 1e-3)

	for what, change := range wrongs() {
		file, matching := rezipped(t, good, zip.Store, change), r
		require.NoError(t, os.WriteFile(path, file, 0o600))
		_, err := train.LoadNetwork(r, folder)
		require.ErrorContains(t, err, "SHA-256", what)
		matching.Network.SHA256 = train.Checksum(file) // as if it had been recorded so
		_, err = train.LoadNetwork(matching, folder)
		require.ErrorContains(t, err, path+" is not good", what)
	}
	again, _, err := train.EncodeNetwork(run, store)
	require.NoError(t, err)
	require.Equal(t, good, again)
	require.NoError(t, os.Remove(path))
	_, err = train.LoadNetwork(r, folder)
	require.ErrorContains(t, err, "is not here")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err = train.LoadNetwork(r, folder)
	require.ErrorContains(t, err, "no regular file")
}

// requireVariables requires that a network has the wanted variables, in float32, but for a difference.
func requireVariables(t *testing.T, want, got map[string]*tensors.Tensor, delta float64) {
	require.Len(t, got, len(want))
	for name := range want {
		require.True(t, want[name].InDelta(got[name], delta), name)
	}
}

// The networks that are committed are read.
func TestCommittedNetworks(t *testing.T) {
	const folder = "../../results/quick"
	records, err := record.LoadAll(filepath.Join(folder, record.Folder))
	require.NoError(t, err)
	require.NotEmpty(t, records)
	for _, r := range records {
		_, err := train.LoadNetwork(r, folder)
		require.NoError(t, err)
	}
}
