package cli

import (
	"os/exec"
	"runtime/debug"
	"strings"
)

// commit is the git commit that the program was built from, with "+changes" if the sources differed from it; "unknown"
// outside of a repository. Results are not sources: a run that rewrites them leaves the sources as they are.
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		revision, modified := "", ""
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				revision = setting.Value
			case setting.Key == "vcs.modified" && setting.Value == "true":
				modified = "+changes"
			}
		}
		if revision != "" && modified == "" {
			return revision[:12]
		}
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
