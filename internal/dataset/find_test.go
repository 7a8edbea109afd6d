package dataset

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
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

// Local reads a named folder or the cache; Verify names what is there, and if nothing is, what to do.
func TestLocalAndVerify(t *testing.T) {
	emptyCache(t)
	for which := range sources {
		set, err := Local(which, "")
		require.NoError(t, err)
		require.Nil(t, set)
		_, err = Local(which, "/nowhere")
		requireOneLine(t, err, "nowhere", EnvVar)
	}
	_, err := Verify("")
	requireOneLine(t, err, "ebssc data fetch")

	folder := filepath.Dir(blackCIFAR10(t))
	set, err := Local(experiments.MNIST, folder)
	require.NoError(t, err)
	require.Nil(t, set)
	sets, err := Verify(folder)
	require.NoError(t, err)
	require.Len(t, sets, 1)
	require.Equal(t, CIFAR10UnknownName, sets[0].Name)
	require.NoError(t, os.Remove(filepath.Join(folder, cifarFolder, cifarFiles[2])))
	_, err = Verify(folder)
	requireOneLine(t, err, cifarFiles[2])

	sets, err = Verify(writeDigits(t))
	requireOneLine(t, err, "found no CIFAR-10")
	require.Len(t, sets, 1)
	require.Equal(t, 1, sets[0].Train.Channels)
}

// digitsFrom is MNIST whose official files are those of digits, and which fetch gets.
func digitsFrom(fetch func() ([]dataFile, error)) source {
	return source{
		name: MNISTName, sha256: fingerprint(digits()), read: readMNIST,
		fetch: func(context.Context, io.Writer) ([]dataFile, error) { return fetch() },
	}
}

// fetchDigits always succeeds.
func fetchDigits() ([]dataFile, error) { return digits(), nil }

// Nothing takes the place of a named folder with a damaged file; a folder without any is passed over.
func TestNamedFolderComesFirst(t *testing.T) {
	emptyCache(t)
	s := digitsFrom(fetchDigits)
	set, err := s.find(t.Context(), t.TempDir(), io.Discard)
	require.NoError(t, err)
	require.Equal(t, s.sha256, set.SHA256)

	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, mnistNames[0]), nil, 0o644))
	t.Setenv(EnvVar, folder)
	_, err = s.find(t.Context(), "", io.Discard)
	requireOneLine(t, err, folder)
}

// MNIST replaces CIFAR-10 where that cannot be downloaded, but not where its folder is broken.
func TestFindReplacesCIFAR10(t *testing.T) {
	emptyCache(t)
	folder := writeDigits(t)
	set, err := Find(t.Context(), experiments.MNIST, folder, io.Discard)
	require.NoError(t, err)
	require.Equal(t, MNISTUnknownName, set.Name)
	_, err = Find(t.Context(), experiments.CIFAR10, folder, io.Discard)
	requireOneLine(t, err, folder, cifarFolder)

	var log bytes.Buffer
	replace(t, experiments.CIFAR10, cifarFrom(t, status(404)))
	replace(t, experiments.MNIST, digitsFrom(fetchDigits))
	set, err = FindOrStandIn(t.Context(), experiments.CIFAR10, "", &log)
	require.NoError(t, err)
	require.Equal(t, MNIST32UnknownName, set.Name)
	require.Equal(t, 32, set.Test.Height)
	require.Contains(t, log.String(), "CIFAR-10 is not available")
	require.Contains(t, log.String(), "404")
}

// replace makes a source that of a kind of images, until the test ends.
func replace(t *testing.T, which experiments.Images, s source) {
	before := sources[which]
	t.Cleanup(func() { sources[which] = before })
	sources[which] = s
}

// A read-only cache is used for what is in it, and nothing else can be put there.
func TestReadOnlyCache(t *testing.T) {
	disk := cachetest.Disk(t, 256)
	t.Setenv(cache.EnvVar, disk)
	t.Setenv(EnvVar, "")
	s := digitsFrom(fetchDigits)
	_, err := s.find(t.Context(), "", io.Discard)
	require.NoError(t, err)
	cachetest.ReadOnly(t, disk)
	set, err := s.find(t.Context(), "", io.Discard)
	require.NoError(t, err)
	require.Equal(t, s.sha256, set.SHA256)

	_, err = Find(t.Context(), experiments.CIFAR10, "", io.Discard)
	require.ErrorIs(t, err, cache.ErrUnusable)
	requireOneLine(t, err, "cifar10 is not in the cache", "read-only file system; set "+cache.EnvVar)
	require.NotErrorIs(t, err, ErrUnavailable, "another data set cannot be put there either")
}

func TestFullCache(t *testing.T) {
	disk := cachetest.Disk(t, 16)
	t.Setenv(cache.EnvVar, disk)
	t.Setenv(EnvVar, "")
	files := digits()
	files[3].bytes = make([]byte, 1<<20)
	s := digitsFrom(func() ([]dataFile, error) { return files, nil })
	s.sha256 = fingerprint(files)
	_, err := s.find(t.Context(), "", io.Discard)
	require.ErrorIs(t, err, cache.ErrUnusable)
	require.NotErrorIs(t, err, ErrUnavailable, "another data set would find no room either")
	requireOneLine(t, err, "no space left on device; free some room, or set "+cache.EnvVar)
	for _, file := range filesBelow(t, disk) {
		require.False(t, strings.HasPrefix(filepath.Base(file), "."), "left behind: %s", file)
	}
	_, err = readMNIST(filepath.Join(disk, "data", MNISTName))
	require.Error(t, err, "what is half there is not taken")
}

// A disk that gives other bytes than were written is not trusted.
func TestReadBack(t *testing.T) {
	emptyCache(t)
	s := digitsFrom(fetchDigits)
	s.sha256 = mnistOfficial
	_, err := s.find(t.Context(), "", io.Discard)
	requireOneLine(t, err, "other bytes are read than were written", "check that disk", cache.EnvVar)
}

func TestNoHome(t *testing.T) {
	for _, name := range []string{cache.EnvVar, EnvVar, "HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	for which := range sources {
		_, err := Find(t.Context(), which, "", io.Discard)
		require.ErrorIs(t, err, cache.ErrUnusable)
		requireOneLine(t, err, "set HOME, or "+cache.EnvVar)
	}
	_, err := Verify("")
	requireOneLine(t, err, "set HOME, or "+cache.EnvVar)
	_, err = Fetch(t.Context(), io.Discard)
	requireOneLine(t, err, "set HOME, or "+cache.EnvVar)
}
