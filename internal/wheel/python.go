package wheel

import (
	"context"
	"fmt"
	"os/exec"
)

// ownFolders takes the current folder off the places where Python looks for modules: what happens to lie there must not be
// taken for Python's own.
const ownFolders = "import sys; sys.path[:] = [folder for folder in sys.path if folder]\n"

// runPip does what python3 -m pip does.
const runPip = `import runpy; runpy.run_module("pip", run_name="__main__", alter_sys=True)`

// Python returns the command that runs code with the python3 on the PATH. Modules come from where that is installed and from
// where the environment says, but not from the current folder.
func Python(ctx context.Context, code string, args ...string) (*exec.Cmd, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("python3 is not on the PATH (%w); install Python 3 with pip", err)
	}
	return exec.CommandContext(ctx, python, append([]string{"-c", ownFolders + code}, args...)...), nil
}

// Pip returns the command that runs pip, see [Python].
func Pip(ctx context.Context, args ...string) (*exec.Cmd, error) {
	return Python(ctx, runPip, args...)
}
