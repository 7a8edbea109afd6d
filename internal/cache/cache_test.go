package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache/cachetest"
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

func TestErrors(t *testing.T) {
	refused := func(t *testing.T, contains ...string) {
		t.Helper()
		_, err := Dir()
		requireOneLine(t, err, contains...)
		require.ErrorIs(t, err, ErrUnusable)
		_, err = Lock(t.Context(), "name")
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
	t.Run("a home that is not there", func(t *testing.T) {
		t.Setenv(EnvVar, "")
		t.Setenv("XDG_CACHE_HOME", "")
		t.Setenv("HOME", "/dev/null")
		refused(t, "/dev/null", "set "+EnvVar)
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
	t.Run("no permission", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write anywhere")
		}
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o555))
		t.Setenv(EnvVar, dir)
		refused(t, dir, "set "+EnvVar)
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

func TestLocateMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	t.Setenv(EnvVar, dir)
	located, err := Locate()
	require.NoError(t, err)
	require.Equal(t, dir, located)
	require.NoDirExists(t, dir)
}

func TestExplain(t *testing.T) {
	require.NoError(t, Explain(nil))
	other := errors.New("other")
	require.Equal(t, other, Explain(other))
	full := Explain(&fs.PathError{Op: "write", Path: "/file", Err: syscall.ENOSPC})
	requireOneLine(t, full, "/file", "no space left", "free some room", EnvVar)
	require.Equal(t, full, Explain(full), "once")
}

func TestCheckOwners(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.NoError(t, checkOwners(dir, file))
	require.NoError(t, os.Chmod(file, 0o666))
	requireOneLine(t, checkOwners(dir, file), file, EnvVar)
	require.Error(t, checkOwners(filepath.Join(dir, "missing")))

	const root, me, other = 0, 1000, 1001
	for _, c := range []struct {
		owner, user int
		want        bool
	}{{me, me, true}, {root, me, true}, {root, root, true}, {other, root, true}, {other, me, false}} {
		require.Equal(t, c.want, trusted(c.owner, c.user), c)
	}
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

func requireOneLine(t *testing.T, err error, contains ...string) {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	for _, part := range contains {
		require.ErrorContains(t, err, part)
	}
}
