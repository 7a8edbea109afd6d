package study

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
)

// originOf names the program and the computer for records.
func originOf(choice device.Choice) record.Origin {
	return record.Origin{
		Commit: Commit(), Go: runtime.Version(), GoMLX: device.GoMLXVersion(), Plugin: plugin(choice.Plugin),
		System: runtime.GOOS + "/" + runtime.GOARCH, CPU: cpuid.CPU.BrandName, Cores: device.Cores(),
		GPU: choice.GPU(),
	}
}

// Versions names the program, Go, GoMLX and the system in a line.
func Versions() string {
	return fmt.Sprintf("ebssc, commit %s, %s, GoMLX %s, %s/%s", Commit(), runtime.Version(), device.GoMLXVersion(), runtime.GOOS, runtime.GOARCH)
}

// plugin names an XLA plugin by its file and the start of its SHA-256; empty for none.
func plugin(path string) string {
	if path == "" {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return filepath.Base(path)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return filepath.Base(path)
	}
	return fmt.Sprintf("%s, SHA-256 %.12x", filepath.Base(path), hash.Sum(nil))
}

// unknownCommit stands for the commit where nothing knows it.
const unknownCommit = "unknown"

// sources are what the program is built from. A run rewrites results, and logs and notes may lie beside the sources: git would call the tree
// modified.
var sources = []string{":/*.go", ":/go.mod", ":/go.sum", ":/internal"}

// Commit is the git commit that the program was built from, with "+changes" if the sources differed from it; "unknown"
// where neither the program nor its folder knows.
func Commit() string {
	commit, modified := stamp()
	if commit != "" && !modified {
		return commit
	}
	module, err := os.ReadFile("go.mod")
	here := err == nil && bytes.HasPrefix(module, []byte("module ebsscgo\n"))
	if commit == "" {
		head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
		if !here || err != nil {
			return unknownCommit
		}
		commit = strings.TrimSpace(string(head))
	}
	if !here || differs(commit) || modified && newer() {
		return commit + "+changes"
	}
	return commit
}

// differs says whether the sources in the current folder differ from a commit's, as far as git knows.
func differs(commit string) bool {
	changed := git("diff", "--quiet", commit).Run()
	others, err := git("status", "--porcelain").Output()
	return changed != nil || err != nil || len(others) > 0
}

// git asks git about the sources.
func git(args ...string) *exec.Cmd {
	return exec.Command("git", slices.Concat(args, []string{"--"}, sources)...)
}

// newer says whether a source in the current folder is newer than the program: those that it was built from may have been others.
func newer() bool {
	program, err := os.Executable()
	if err != nil {
		return true
	}
	built, err := os.Stat(program)
	if err != nil {
		return true
	}
	files, err := git("ls-files", "-z").Output()
	if err != nil {
		return true
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		if info, err := os.Stat(path); err != nil || info.ModTime().After(built.ModTime()) {
			return true
		}
	}
	return false
}

// stamp is what the go command wrote into the program, if it did: the commit, and whether anything differed from it.
func stamp() (revision string, modified bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", false
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			revision = setting.Value[:min(12, len(setting.Value))]
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	return revision, modified
}
