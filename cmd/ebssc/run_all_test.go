package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// stubs stand for the programs that run_all.sh calls: no C compiler is called, and the program that is built prints its folder and
// its arguments.
var stubs = map[string]string{
	"go": `case $1$2 in
envGOVERSION) echo go99.0 ;;
envCC) echo true ;;
build*) mkdir -p bin; printf '#!/bin/sh\npwd\necho "$@"\n' >bin/ebssc; chmod +x bin/ebssc ;;
esac`,
	"python3": "",
}

// run_all.sh runs in its project's folder, called by its path or through symbolic links.
func TestRunAllThroughALink(t *testing.T) {
	project, links, programs := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"run_all.sh", "go.mod"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(project, name), text, 0o755))
	}
	for name, script := range stubs {
		require.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	script, link, relative := filepath.Join(project, "run_all.sh"), filepath.Join(links, "one"), filepath.Join(links, "two")
	require.NoError(t, os.Symlink(script, link))
	require.NoError(t, os.Symlink("one", relative))
	for _, path := range []string{script, link, relative} {
		cmd := exec.Command(path, "--results", "out")
		cmd.Env = append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", path, out)
		require.Equal(t, project+"\nrun all --results out\n", string(out), path)
	}
}
