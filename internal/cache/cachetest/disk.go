// Package cachetest gives tests disks on which files cannot be written.
package cachetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Disk mounts a disk of that many kilobytes, in memory, until the test ends. It skips the test if
// this user cannot mount one.
func Disk(t testing.TB, kilobytes int) string {
	t.Helper()
	folder := t.TempDir()
	options := fmt.Sprintf("mode=755,size=%dk", kilobytes)
	mount := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder)
	out, err := mount.CombinedOutput()
	if err != nil {
		t.Skipf("no disk can be mounted here: %s", out)
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", folder).Run()) })
	return folder
}

// Fill fills a disk of at most 8 megabytes. The function that it returns gives back the room.
func Fill(t testing.TB, folder string) (empty func() error) {
	t.Helper()
	ballast := filepath.Join(folder, "ballast")
	require.ErrorIs(t, os.WriteFile(ballast, make([]byte, 8<<20), 0o644), syscall.ENOSPC)
	return func() error { return os.Remove(ballast) }
}

// ReadOnly makes a disk read-only, for root too.
func ReadOnly(t testing.TB, folder string) {
	t.Helper()
	require.NoError(t, exec.Command("mount", "-o", "remount,ro", folder).Run())
}
