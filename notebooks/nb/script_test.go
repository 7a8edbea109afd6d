package nb

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A folder in which every user may put code is not the notebooks' environment.
func TestEnvironmentIsOnesOwn(t *testing.T) {
	require.FileExists(t, "../environment.sh") // so that a result is not taken for another script's
	open := filepath.Join(t.TempDir(), "open")
	require.NoError(t, os.Mkdir(open, 0o755))
	require.NoError(t, os.Chmod(open, 0o777))
	command := exec.Command("bash", "../run.sh")
	command.Env = append(os.Environ(), "EBSSC_CACHE="+filepath.Join(open, "cache"))
	output, err := command.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "every user may write to "+open)
}
