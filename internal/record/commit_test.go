package record

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commit is that of the project's own repository. A git worktree has a file .git, which the go
// command passes over; an archive, and a program that was carried elsewhere, have none.
func TestCommit(t *testing.T) {
	settings := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: modified},
		}}
	}
	checkout, worktree, archive := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(checkout, ".git"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: /x"), 0o644))
	require.Equal(t, "0123456789ab", commit(settings("false"), checkout))
	require.Equal(t, "0123456789ab+changes", commit(settings("true"), checkout))
	for _, folder := range []string{worktree, archive, "/no/such/folder", "."} {
		require.Equal(t, "unknown", commit(settings("false"), folder), folder)
	}
	require.Equal(t, "unknown", commit(&debug.BuildInfo{}, checkout))
	require.Equal(t, "unknown", commit(nil, checkout))
}
