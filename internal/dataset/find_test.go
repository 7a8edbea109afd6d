package dataset

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/cache/cachetest"
)

// emptyCache makes the cache an empty folder, and no folder the named one.
func emptyCache(t *testing.T) {
	t.Setenv(cache.EnvVar, t.TempDir())
	t.Setenv(EnvVar, "")
}

// fetching makes digits the official bytes of MNIST, which can be fetched, until the test ends.
func fetching(t *testing.T) {
	before, files := sources[experiments.MNIST], digits(t)
	changed := before
	changed.fetch = func(context.Context, io.Writer) ([]dataFile, error) { return files, nil }
	sources[experiments.MNIST], names[fingerprint(files)] = changed, MNISTName
	t.Cleanup(func() {
		sources[experiments.MNIST] = before
		delete(names, fingerprint(files))
	})
}

// Local reads a named folder or the cache, and downloads nothing.
func TestLocal(t *testing.T) {
	emptyCache(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for which := range sources {
		set, err := Local(which, "")
		require.NoError(t, err)
		require.Nil(t, set)
		for _, folder := range []string{"/nowhere", file} {
			_, err = Local(which, folder)
			requireOneLine(t, err, folder, "not a folder", EnvVar)
		}
	}
}

// Nothing takes the place of a named folder with a damaged file; a folder without any is passed over.
func TestNamedFolderComesFirst(t *testing.T) {
	emptyCache(t)
	fetching(t)
	set, err := Find(t.Context(), experiments.MNIST, t.TempDir(), io.Discard)
	require.NoError(t, err)
	require.Equal(t, MNISTName, set.Name)

	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, mnistNames[0]), nil, 0o644))
	t.Setenv(EnvVar, folder)
	_, err = Find(t.Context(), experiments.MNIST, "", io.Discard)
	requireOneLine(t, err, folder)
}

// MNIST stands in for CIFAR-10 where that cannot be downloaded, which one line says, but not where its folder is broken.
func TestStandIn(t *testing.T) {
	emptyCache(t)
	folder := writeDigits(t)
	_, err := FindOrStandIn(t.Context(), experiments.CIFAR10, folder, io.Discard)
	requireOneLine(t, err, folder, cifarFolder)

	var log bytes.Buffer
	cifarFrom(t, status(404))
	fetching(t)
	set, err := FindOrStandIn(t.Context(), experiments.CIFAR10, "", &log)
	require.NoError(t, err)
	require.Equal(t, MNIST32Name, set.Name)
	require.Regexp(t, `^downloading .*\nMNIST stands in for CIFAR-10, .* 404 .*\n$`, log.String())
}

// A read-only cache is used for what is in it, and nothing else can be put there.
func TestReadOnlyCache(t *testing.T) {
	disk := cachetest.Disk(t, 256)
	t.Setenv(cache.EnvVar, disk)
	t.Setenv(EnvVar, "")
	fetching(t)
	for range 2 {
		set, err := Find(t.Context(), experiments.MNIST, "", io.Discard)
		require.NoError(t, err)
		require.Equal(t, MNISTName, set.Name)
		cachetest.ReadOnly(t, disk)
	}
	_, err := FindOrStandIn(t.Context(), experiments.CIFAR10, "", io.Discard)
	require.ErrorIs(t, err, cache.ErrUnusable)
	require.NotErrorIs(t, err, ErrUnavailable, "a stand-in cannot be put there either")
}
