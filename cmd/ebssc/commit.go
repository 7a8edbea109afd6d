package main

import (
	"bytes"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
)

// commit is the git commit that the program was built from, with "+changes" if the sources differed from it; "unknown"
// where neither the program nor its folder knows. Results are not sources: a run rewrites them, and git would call the
// tree modified.
func commit() string {
	stamped, modified := stamp()
	if stamped != "" && !modified {
		return stamped
	}
	if module, err := os.ReadFile("go.mod"); err != nil || !bytes.HasPrefix(module, []byte("module ebsscgo\n")) {
		if stamped != "" {
			return stamped + "+changes"
		}
		return "unknown"
	}
	revision, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--", ":/", ":!/results").Output()
	if err != nil || len(changes) > 0 {
		return strings.TrimSpace(string(revision)) + "+changes"
	}
	return strings.TrimSpace(string(revision))
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
