package cache

import (
	"context"
	"errors"
	"fmt"
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

func TestLocate(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	link := filepath.Join(home, "link")
	require.NoError(t, os.Symlink(filepath.Join(home, "new"), link))
	for env, want := range map[string]string{
		"": ".cache/ebssc", filepath.Join(home, "new", "folder"): "new/folder", link: "link",
	} {
		t.Setenv(EnvVar, env)
		want = filepath.Join(home, want)
		dir, err := Locate()
		require.NoError(t, err)
		require.Equal(t, want, dir)
		require.NoDirExists(t, want)
	}
}

func TestErrors(t *testing.T) {
	refused := func(t *testing.T, contains ...string) {
		t.Helper()
		_, err := LoadOrMake(t.Context(), "kind", "name", func(string) string { return "" },
			func(string) error { return nil })
		requireOneLine(t, err, contains...)
		require.ErrorIs(t, err, ErrUnusable)
	}
	t.Run("no home, or a relative path", func(t *testing.T) {
		t.Chdir(t.TempDir())
		names := []string{EnvVar, "HOME", "XDG_CACHE_HOME"}
		for _, name := range names {
			for _, other := range names {
				t.Setenv(other, "")
			}
			refused(t, "set HOME, or "+EnvVar)
			t.Setenv(name, "here")
			refused(t, "relative", EnvVar)
		}
		require.NoDirExists(t, "here")
	})
	t.Run("a file is in the way", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		link := file + " gone" // to a disk that is not mounted
		require.NoError(t, os.Symlink("/nowhere", link))
		for _, dir := range []string{file, filepath.Join(file, "below"), link} {
			t.Setenv(EnvVar, dir)
			refused(t, file, "set "+EnvVar)
		}
	})
	t.Run("a full disk", func(t *testing.T) {
		dir := cachetest.Disk(t, 64)
		cachetest.Fill(t, dir)
		t.Setenv(EnvVar, dir)
		refused(t, dir, "no space left on device", "set "+EnvVar)
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
	require.NoError(t, explain(nil))
	other := errors.New("other")
	require.Equal(t, other, explain(other))
	full := explain(&fs.PathError{Op: "write", Path: "/file", Err: syscall.ENOSPC})
	requireOneLine(t, full, "/file", "no space left", "free some room", EnvVar)
	for _, refused := range []error{syscall.ENOTSUP, syscall.ENOSYS, syscall.ENOLCK, syscall.EINVAL} {
		flockless := explain(fmt.Errorf("waiting for the lock /lock: %w", refused))
		requireOneLine(t, flockless, "/lock", "which its disk refuses", "another disk", EnvVar)
		require.ErrorIs(t, flockless, ErrUnusable)
	}
	require.Equal(t, full, explain(full), "once")
}

// Of several at once one makes what is missing; others wait for it, but not for what has another
// name.
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
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte("made"), 0o644))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			found, err := LoadOrMake(t.Context(), "kind", "name", load, create)
			if found != "made" || err != nil {
				t.Error(found, err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, made.Load())

	held, err := lock(t.Context(), os.Getenv(EnvVar), "kind-held")
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
