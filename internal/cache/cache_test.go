package cache

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDirFromEnvironment(t *testing.T) {
	want := filepath.Join(t.TempDir(), "new", "folder")
	t.Setenv(EnvVar, want)
	dir, err := Dir()
	require.NoError(t, err)
	require.Equal(t, want, dir)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries, "Dir leaves nothing behind")
}

func TestDirRelativeBecomesAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(EnvVar, "here")
	dir, err := Dir()
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(dir), dir)
}

func TestDirOfUser(t *testing.T) {
	home := t.TempDir()
	t.Setenv(EnvVar, "")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	dir, err := Dir()
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(dir, home), "%s is not in %s", dir, home)
	require.Equal(t, "ebssc", filepath.Base(dir))
}

func TestDirErrors(t *testing.T) {
	t.Run("no home", func(t *testing.T) {
		for _, name := range []string{EnvVar, "HOME", "XDG_CACHE_HOME"} {
			t.Setenv(name, "")
		}
		_, err := Dir()
		requireOneLine(t, err, EnvVar)
	})
	t.Run("a file is in the way", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		t.Setenv(EnvVar, file)
		_, err := Dir()
		requireOneLine(t, err, file)
	})
	t.Run("read only", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write anywhere")
		}
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o555))
		t.Setenv(EnvVar, dir)
		_, err := Dir()
		requireOneLine(t, err, EnvVar)
	})
}

func TestLockExcludes(t *testing.T) {
	t.Setenv(EnvVar, t.TempDir())
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			unlock, err := Lock(t.Context(), "one")
			if err != nil {
				t.Error(err)
				return
			}
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d hold the lock", n)
			}
			time.Sleep(10 * time.Millisecond)
			inside.Add(-1)
			if err := unlock(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestLockGivesUpWithContext(t *testing.T) {
	t.Setenv(EnvVar, t.TempDir())
	unlock, err := Lock(t.Context(), "held")
	require.NoError(t, err)

	other, err := Lock(t.Context(), "other")
	require.NoError(t, err, "locks of different names are independent")
	require.NoError(t, other())

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Lock(ctx, "held")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireOneLine(t, err, "held.lock")

	require.NoError(t, unlock())
	unlock, err = Lock(t.Context(), "held")
	require.NoError(t, err)
	require.NoError(t, unlock())
}

func requireOneLine(t *testing.T, err error, contains string) {
	t.Helper()
	require.ErrorContains(t, err, contains)
	require.NotContains(t, err.Error(), "\n")
}
