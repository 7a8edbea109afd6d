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
envGOVERSION) echo ${GO:-go99.0} ;;
envCC) echo ${COMPILER:-true} ;;
build*) mkdir -p bin; printf '#!/bin/sh\npwd\necho "$@"\n' >bin/ebssc; chmod +x bin/ebssc ;;
esac`,
	"python3": `exit ${PIP:-0}`,
}

// run_all.sh runs in its project's folder, called by its path or through symbolic links, and names what is missing.
func TestRunAll(t *testing.T) {
	project, links, programs := t.TempDir(), t.TempDir(), t.TempDir()
	for _, name := range []string{"run_all.sh", "go.mod"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(project, name), text, 0o755))
	}
	for name, script := range stubs {
		require.NoError(t, os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	run := func(path string, environment ...string) (string, error) {
		cmd := exec.Command(path, "--results", "out")
		cmd.Env = append(append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH")), environment...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	script, link, relative := filepath.Join(project, "run_all.sh"), filepath.Join(links, "one"), filepath.Join(links, "two")
	require.NoError(t, os.Symlink(script, link))
	require.NoError(t, os.Symlink("one", relative))
	for _, path := range []string{script, link, relative} {
		out, err := run(path)
		require.NoError(t, err, out)
		require.Equal(t, project+"\nrun all --results out\n", out, path)
	}
	for missing, says := range map[string]string{"GO=go1.20": "found go1.20", "COMPILER=nocc": "nocc", "PIP=1": "pip"} {
		out, err := run(script, missing)
		require.Error(t, err, missing)
		require.Regexp(t, `^run_all\.sh: .*`+says+`.*\n$`, out)
	}
}
