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

// Commit is the git commit that the program was built from, with "+changes" if the sources differed from it; "unknown"
// where neither the program nor its folder knows. Results are not sources: a run rewrites them, and git would call the
// tree modified.
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
	changed := exec.Command("git", "diff", "--quiet", commit, "--", ":/", ":!/results").Run()
	others, err := exec.Command("git", "status", "--porcelain", "--", ":/", ":!/results").Output()
	return changed != nil || err != nil || len(others) > 0
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
	sources, err := exec.Command("git", "ls-files", "-z", "--", ":/", ":!/results").Output()
	if err != nil {
		return true
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(sources), "\x00"), "\x00") {
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
