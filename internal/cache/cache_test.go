package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache/cachetest"
)

func TestDir(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	for env, want := range map[string]string{"": ".cache/ebssc", filepath.Join(home, "new", "folder"): "new/folder", "here": "here"} {
		t.Setenv(EnvVar, env)
		want = filepath.Join(home, want)
		located, err := Locate()
		require.NoError(t, err)
		require.Equal(t, want, located)
		require.NoDirExists(t, want)
		dir, err := Dir()
		require.NoError(t, err)
		require.Equal(t, want, dir)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries, "Dir leaves nothing behind")
	}
}

func TestErrors(t *testing.T) {
	refused := func(t *testing.T, contains ...string) {
		t.Helper()
		_, err := Dir()
		requireOneLine(t, err, contains...)
		require.ErrorIs(t, err, ErrUnusable)
		_, err = lock(t.Context(), "name")
		requireOneLine(t, err, contains...)
	}
	t.Run("no home", func(t *testing.T) {
		for _, name := range []string{EnvVar, "HOME", "XDG_CACHE_HOME"} {
			t.Setenv(name, "")
		}
		refused(t, "set HOME, or "+EnvVar)
		_, err := Locate()
		requireOneLine(t, err, "set HOME, or "+EnvVar)
	})
	t.Run("a file is in the way", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		for _, dir := range []string{file, filepath.Join(file, "below")} {
			t.Setenv(EnvVar, dir)
			refused(t, file, "set "+EnvVar)
		}
	})
	t.Run("everybody may write", func(t *testing.T) {
		dir := t.TempDir()
		t.Setenv(EnvVar, dir)
		for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky} {
			require.NoError(t, os.Chmod(dir, mode))
			refused(t, dir, "set "+EnvVar)
			_, err := Locate()
			require.ErrorIs(t, err, ErrUnusable)
		}
		require.NoError(t, os.Chmod(dir, 0o775))
		_, err := Dir()
		require.NoError(t, err, "a group may share one")
	})
	t.Run("a full disk", func(t *testing.T) {
		dir := cachetest.Disk(t, 64)
		cachetest.Fill(t, dir)
		t.Setenv(EnvVar, dir)
		refused(t, dir, "no space left on device", "set "+EnvVar)
		left, err := filepath.Glob(filepath.Join(dir, ".*"))
		require.NoError(t, err)
		require.Empty(t, left)
	})
	t.Run("a disk that can only be read", func(t *testing.T) {
		dir := cachetest.Disk(t, 64)
		cachetest.ReadOnly(t, dir)
		for _, dir := range []string{dir, filepath.Join(dir, "new")} {
			t.Setenv(EnvVar, dir)
			refused(t, dir, "read-only file system", "set "+EnvVar)
			located, err := Locate()
			require.NoError(t, err, "it may be read")
			require.Equal(t, dir, located)
		}
	})
}

func TestExplain(t *testing.T) {
	require.NoError(t, Explain(nil))
	other := errors.New("other")
	require.Equal(t, other, Explain(other))
	full := Explain(&fs.PathError{Op: "write", Path: "/file", Err: syscall.ENOSPC})
	requireOneLine(t, full, "/file", "no space left", "free some room", EnvVar)
	require.Equal(t, full, Explain(full), "once")
}

func TestTrusted(t *testing.T) {
	const root, me, other = 0, 1000, 1001
	for _, c := range []struct {
		owner, user int
		want        bool
	}{{me, me, true}, {root, me, true}, {root, root, true}, {other, root, true}, {other, me, false}} {
		require.Equal(t, c.want, trusted(c.owner, c.user), c)
	}
}

// Of several at once one makes what is missing; others wait for it, but not for what has another name.
func TestLoadOrMake(t *testing.T) {
	t.Setenv(EnvVar, t.TempDir())
	load := func(path string) string {
		content, _ := os.ReadFile(path)
		return string(content)
	}
	var made atomic.Int32
	create := func(path string) error {
		made.Add(1)
		time.Sleep(20 * time.Millisecond)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("made"), 0o644))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if found, err := LoadOrMake(t.Context(), "kind", "name", load, create); found != "made" || err != nil {
				t.Error(found, err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, made.Load())

	held, err := lock(t.Context(), "kind-held")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = LoadOrMake(ctx, "kind", "held", load, create)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireOneLine(t, err, "kind held is not in the cache", "kind-held.lock")
	_, err = LoadOrMake(t.Context(), "kind", "other", load, create)
	require.NoError(t, err)
	require.NoError(t, held.Close())
	_, err = LoadOrMake(t.Context(), "kind", "held", load, create)
	require.NoError(t, err)
	_, err = LoadOrMake(t.Context(), "kind", "never", func(string) string { return "" }, create)
	requireOneLine(t, err, filepath.Join("kind", "never"), "check that disk", EnvVar)
}

func requireOneLine(t *testing.T, err error, contains ...string) {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	for _, part := range contains {
		require.ErrorContains(t, err, part)
	}
}
