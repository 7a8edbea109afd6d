// Package cachetest gives tests disks on which files cannot be written.
package cachetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Disk mounts a disk of that many kilobytes, in memory, until the test ends. It skips the test if this user cannot mount one.
func Disk(t testing.TB, kilobytes int) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a disk")
	}
	folder := t.TempDir()
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("mode=755,size=%dk", kilobytes), "tmpfs", folder).CombinedOutput()
	if err != nil {
		t.Skipf("no disk can be mounted here: %s", out)
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", folder).Run()) })
	return folder
}

// ballast is the file that fills a disk.
const ballast = "ballast"

// Empty gives back the room that Fill took.
func Empty(t testing.TB, folder string) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(folder, ballast)))
}

// Fill fills a disk.
func Fill(t testing.TB, folder string) {
	t.Helper()
	file, err := os.Create(filepath.Join(folder, ballast))
	require.NoError(t, err)
	_, err = io.Copy(file, endless{})
	require.ErrorIs(t, errors.Join(err, file.Close()), syscall.ENOSPC)
}

// ReadOnly makes a disk read-only, for root too.
func ReadOnly(t testing.TB, folder string) { remount(t, folder, "ro") }

// Resize gives a disk another size in kilobytes.
func Resize(t testing.TB, folder string, kilobytes int) {
	remount(t, folder, fmt.Sprintf("size=%dk", kilobytes))
}

func remount(t testing.TB, folder, option string) {
	t.Helper()
	out, err := exec.Command("mount", "-o", "remount,"+option, folder).CombinedOutput()
	require.NoError(t, err, string(out))
}

// endless reads as zeros for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
