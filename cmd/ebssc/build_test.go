package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/filetest"
)

// repository commits a small project in a new git repository: this project's build.sh, and a
// program that prints its commit. It returns the folder and the commit.
func repository(t *testing.T) (folder, commit string) {
	folder = t.TempDir()
	for _, name := range []string{"build.sh", "internal/record/commit.go", ".gitattributes"} {
		filetest.Copy(t, filepath.Join("../..", name), filepath.Join(folder, name))
	}
	for name, source := range map[string]string{
		"go.mod": "module ebsscgo\n\ngo 1.26\n", ".gitignore": "bin/\n", "results/record.json": "{}\n",
		"cmd/ebssc/main.go": "package main\n\nimport \"ebsscgo/internal/record\"\n\n" +
			"func main() { println(record.Commit()) }\n",
	} {
		filetest.Write(t, filepath.Join(folder, name), source)
	}
	git(t, folder, "init", "--quiet")
	commitAll(t, folder)
	return folder, git(t, folder, "rev-parse", "HEAD")[:12]
}

func commitAll(t *testing.T, folder string) {
	git(t, folder, "add", "--all")
	git(t, folder, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "--quiet", "-m", "x")
}

func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	return tells(t, folder, append([]string{"git"}, args...)...)
}

// tells runs a program in a folder, and returns what it wrote.
func tells(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=auto", "PWD="+folder)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// The commit that a program names is its own project's or "unknown", never that of a repository
// around it: built by build.sh, which says so, in a checkout, in a git worktree in the checkout of
// another commit, and in an archive in a repository. Without build.sh it is unknown.
func TestCommitOfBuild(t *testing.T) {
	const unknown = "records will name the commit \"unknown\": "
	build := func(folder string, args ...string) (said, commit string) {
		said = tells(t, folder, args...)
		return said, tells(t, folder, "bin/ebssc")
	}
	checkout, first := repository(t)
	said, commit := build(checkout, "./build.sh")
	require.Equal(t, "build.sh: building; the first time takes minutes", said)
	require.Equal(t, first, commit)
	_, commit = build(checkout, "go", "build", "-o", "bin/ebssc", "./cmd/ebssc")
	require.Equal(t, "unknown", commit)

	// A worktree stays at the first commit while the checkout around it goes on.
	worktree := filepath.Join(checkout, "bin", "worktree")
	git(t, checkout, "worktree", "add", "--quiet", "--detach", worktree)
	filetest.Write(t, filepath.Join(checkout, "new"), "")
	_, commit = build(checkout, "./build.sh")
	require.Equal(t, first+"+changes", commit)
	commitAll(t, checkout)
	_, commit = build(worktree, "./build.sh")
	require.Equal(t, first, commit)

	archive := filepath.Join(checkout, "bin", "archive")
	require.NoError(t, os.CopyFS(archive, os.DirFS(worktree)))
	require.NoError(t, os.Remove(filepath.Join(archive, ".git")))
	said, commit = build(archive, "./build.sh")
	require.Contains(t, said, unknown+"the git repository "+checkout+" is not this folder's")
	require.Equal(t, "unknown", commit)

	// A hook of another repository, as its own one sees it.
	other, _ := repository(t)
	said, commit = build(checkout, "env", "GIT_DIR="+filepath.Join(other, ".git"), "./build.sh")
	require.Empty(t, said)
	require.NotEqual(t, first, commit)
	require.Equal(t, git(t, checkout, "rev-parse", "HEAD")[:12], commit)

	// A go.work above is another project's, and cgo may be off.
	filetest.Write(t, filepath.Join(checkout, "go.work"), "go 1.26\n")
	_, commit = build(worktree, "env", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "./build.sh")
	require.Equal(t, first, commit)

	if os.Geteuid() == 0 {
		require.NoError(t, filepath.Walk(other, func(path string, _ os.FileInfo, err error) error {
			return os.Lchown(path, 65534, 65534)
		}))
		for _, flags := range []string{"GOFLAGS=-buildvcs=auto", "GOFLAGS=-buildvcs=false"} {
			said, commit = build(other, "env", flags, "./build.sh")
			require.Contains(t, said, unknown+"fatal: detected dubious ownership")
			require.Equal(t, "unknown", commit)
		}
	}
}

// A clone by a git that is set to write CRLF, as Windows has it, has the bytes that were committed.
func TestCloneWithCRLF(t *testing.T) {
	from, _ := repository(t)
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, from, "clone", "--quiet", "-c", "core.autocrlf=true", from, clone)
	for _, name := range []string{"build.sh", "results/record.json"} {
		want := filetest.Read(t, filepath.Join(from, name))
		require.Equal(t, want, filetest.Read(t, filepath.Join(clone, name)), name)
	}
}

// Without cgo the go command ends in a line that names it.
func TestBuildWithoutCgo(t *testing.T) {
	cmd := exec.Command("go", "build", "-o", os.DevNull, "ebsscgo/cmd/ebssc")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Regexp(t, `^\S*nocgo\.go:\S+ package cgo_is_needed/install_gcc\S+ is not in std .*\n$`,
		string(out))
}

// What is missing for a build is said in a line, before Go builds.
func TestBuildSaysWhatIsMissing(t *testing.T) {
	checkout, _ := repository(t)
	for setting, says := range map[string]string{
		"CC=none":          "no C compiler (none), which cgo needs",
		"CC=gcc -nostdinc": "gcc cannot read stdlib.h (",
	} {
		cmd := exec.Command("./build.sh")
		cmd.Dir, cmd.Env = checkout, append(os.Environ(), setting)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "build.sh: "+says)
		require.Equal(t, 1, strings.Count(string(out), "\n"), string(out))
	}
	filetest.Write(t, filepath.Join(checkout, "bin"), "") // a file, as root can write everywhere
	cmd := exec.Command("./build.sh")
	cmd.Dir = checkout
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "/bin cannot be written to; clone the project")
}

// The README asks for the version of Go that go.mod asks for.
func TestLeastGo(t *testing.T) {
	_, after, _ := strings.Cut(filetest.Read(t, "../../go.mod"), "\ngo ")
	least, _, _ := strings.Cut(after, "\n")
	require.Contains(t, filetest.Read(t, "../../README.md"), "Go "+least+",")
}

// A pack's program writes to the pack's results, wherever it is called. It uses the pack's cache,
// or a folder that EBSSC_CACHE names, with all that the pack has: the pack's is refused where
// another user can change it.
func TestPacksCache(t *testing.T) {
	pack, own := t.TempDir(), filepath.Join(t.TempDir(), "own")
	run := filepath.Join(pack, "run.sh")
	filetest.Copy(t, "../../experiments/offline/run.sh", run)
	filetest.Write(t, filepath.Join(pack, "cache", "wheels", "plugin"), "plugin\n")
	filetest.WriteScript(t, filepath.Join(pack, "ebssc"),
		`echo "$EBSSC_CACHE" $(cat "$EBSSC_CACHE/wheels/plugin") "$@"`)
	for named, used := range map[string]string{
		"": filepath.Join(pack, "cache"), filepath.Join(pack, "cache"): filepath.Join(pack, "cache"),
		own: own,
	} {
		said := tells(t, filepath.Dir(own), "env", "EBSSC_CACHE="+named, run, "table", "--seeds", "1")
		require.Equal(t, fmt.Sprintf("%s plugin run table --results %s/results --seeds 1", used, pack),
			said)
	}
}

// A pack that could not be made leaves no folder, which would be in the way of the next try.
func TestPackFails(t *testing.T) {
	project, pack := t.TempDir(), filepath.Join(t.TempDir(), "pack")
	scripts := filepath.Join(project, "experiments", "offline")
	filetest.Copy(t, "../../experiments/offline/pack.sh", filepath.Join(scripts, "pack.sh"))
	filetest.WriteScript(t, filepath.Join(scripts, "run.sh"), "exit $RUN")
	filetest.WriteScript(t, filepath.Join(project, "build.sh"), "exit $BUILD")
	for _, failing := range []string{"BUILD=1 RUN=0", "BUILD=0 RUN=1", "BUILD=0 RUN=0"} {
		cmd := exec.Command(filepath.Join(scripts, "pack.sh"), pack)
		cmd.Env = append(os.Environ(), strings.Fields(failing)...)
		err := cmd.Run()
		require.Equal(t, strings.Contains(failing, "1"), err != nil, failing)
		_, missing := os.Stat(pack)
		require.Equal(t, err != nil, missing != nil, failing)
	}
}
