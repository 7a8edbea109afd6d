package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
)

// fakePython makes "virtual environments" which hold a copy of itself, and installs nothing: it writes down that it was
// asked, and fails if $FAKE_PIP_FAILS is set.
const fakePython = `#!/bin/sh
if [ "$2" = venv ]; then
	mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
elif [ -n "$FAKE_PIP_FAILS" ]; then
	printf 'WARNING: Retrying\nERROR: No matching distribution found for torch\n' >&2
	exit 1
elif [ "$2" = pip ]; then
	echo "$@" >>"$FAKE_PIP_LOG"
fi
`

func TestEnvironment(t *testing.T) {
	tools, folder := t.TempDir(), t.TempDir()
	log := filepath.Join(tools, "log")
	require.NoError(t, os.WriteFile(filepath.Join(tools, "python3"), []byte(fakePython), 0o755))
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(cache.EnvVar, folder)
	t.Setenv("FAKE_PIP_LOG", log)

	var out strings.Builder
	t.Setenv("FAKE_PIP_FAILS", "1")
	_, err := environment(t.Context(), &out)
	require.EqualError(t, err, "installing the peers (without them: --peers=): ERROR: No matching distribution found for torch")

	t.Setenv("FAKE_PIP_FAILS", "")
	var python string
	for range 2 {
		python, err = environment(t.Context(), &out)
		require.NoError(t, err)
		require.FileExists(t, python)
		require.True(t, strings.HasPrefix(python, folder))
	}
	asked, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(asked), "\n"), "after a failure it is installed, once")
	require.Equal(t, 2, strings.Count(out.String(), "installing"))

	require.NoError(t, os.Remove(python)) // as an upgrade of Python leaves it
	python, err = environment(t.Context(), &out)
	require.NoError(t, err)
	require.FileExists(t, python)
	require.Equal(t, 3, strings.Count(out.String(), "installing"))
}

// Results name the peers' versions, so these are pinned.
func TestRequirementsArePinned(t *testing.T) {
	text, err := sources.ReadFile("peers/requirements.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		require.Regexp(t, `^[a-z]+==[0-9.]+\n$`, line)
	}
}
