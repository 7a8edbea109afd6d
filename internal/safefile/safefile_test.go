package safefile

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Only regular files of at most the size asked for are read; a pipe without a writer does not make
// the program wait.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, Write(path, []byte("12345")))
	content, err := Read(path, 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(content))
	_, err = Read(path, 4)
	require.ErrorContains(t, err, "more than 4 bytes")

	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink("/dev/zero", link))
	for _, path := range []string{pipe, link, dir} {
		_, err := Read(path, 5)
		require.ErrorContains(t, err, "no regular file", path)
	}
	for _, path := range []string{"/proc/self/maps", "/sys/kernel/notes"} {
		_, err := Read(path, 1<<20)
		require.ErrorIs(t, err, errKernel, path)
	}
	_, err = Read(strings.Repeat("x", 300), 5)
	require.ErrorIs(t, err, syscall.ENAMETOOLONG)
}

// Folders are listed by name. What is none, or none of files, is an error, and a pipe is not waited
// for.
func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	entries, err := ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
	for _, name := range []string{"c", "a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	link, pipe := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, os.Symlink(dir, link))
	want, err := os.ReadDir(dir)
	require.NoError(t, err)
	entries, err = ReadDir(link)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for i, entry := range entries {
		require.Equal(t, want[i].Name(), entry.Name())
	}
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err = ReadDir(pipe)
	require.ErrorIs(t, err, syscall.ENOTDIR)
	_, err = ReadDir(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadDir("/proc/self")
	require.ErrorIs(t, err, errKernel)
	_, err = ReadDir("/dev")
	require.ErrorContains(t, err, "list /dev: it has devices")
}

// A lock keeps others out until it is closed, and who waits stops with the context. Only a regular
// file is one.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	path, pipe := filepath.Join(dir, "lock"), filepath.Join(dir, "pipe")
	link := filepath.Join(dir, "link")
	lock, held, err := TryLock(path)
	require.NoError(t, err)
	require.True(t, held)
	_, held, err = TryLock(path)
	require.NoError(t, err)
	require.False(t, held)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = Lock(ctx, path)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	time.AfterFunc(50*time.Millisecond, func() { lock.Close() })
	again, err := Lock(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, again.Close())

	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.Symlink("/dev/null", link))
	for _, path := range []string{pipe, link} {
		_, held, err := TryLock(path)
		require.False(t, held)
		require.ErrorIs(t, err, errNotRegular, path)
		_, err = Lock(t.Context(), path)
		require.ErrorIs(t, err, errNotRegular, path)
	}
	_, _, err = TryLock(dir)
	require.Error(t, err)
}

// A disk that refuses fsync cannot be had here: this is the error that os.File.Sync makes of it.
func TestExplain(t *testing.T) {
	sync := &fs.PathError{Op: "sync", Path: "/disk/.file1", Err: syscall.EINVAL}
	require.ErrorContains(t, explain(sync), "sync /disk/.file1: invalid argument: its disk refuses")
	require.ErrorContains(t, explain(sync), "take a folder on another disk")
	require.ErrorIs(t, explain(sync), syscall.EINVAL)
	other := &fs.PathError{Op: "write", Path: "/disk/.file1", Err: syscall.EINVAL}
	require.Equal(t, other, explain(other))
	require.NoError(t, explain(nil))
}

// A shell takes back what was quoted.
func TestQuoted(t *testing.T) {
	for _, path := range []string{"/tmp/mine", "it's $HOME", `a"b\c`} {
		out, err := exec.Command("sh", "-c", "printf %s "+Quoted(path)).Output()
		require.NoError(t, err)
		require.Equal(t, path, string(out))
	}
}
