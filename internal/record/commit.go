package record

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// built is the commit that build.sh gives the linker.
var built string

// Commit returns the git commit that the program was built from, with "+changes" if its folder
// differed from it, or "unknown".
//
// Without build.sh, the go command takes the first folder above the sources that has a folder .git.
// That may be another project's, around a git worktree or an unpacked archive: then the commit is
// unknown.
func Commit() string {
	_, file, _, _ := runtime.Caller(0)
	info, _ := debug.ReadBuildInfo()
	return cmp.Or(built, commit(info, filepath.Join(filepath.Dir(file), "..", "..")))
}

// commit believes the go command if the project's folder, as it was where the program was built, is
// here and a git repository of its own.
func commit(info *debug.BuildInfo, project string) string {
	settings := map[string]string{}
	if info != nil {
		for _, setting := range info.Settings {
			settings[setting.Key] = setting.Value
		}
	}
	git, err := os.Stat(filepath.Join(project, ".git"))
	known := err == nil && git.IsDir() && filepath.IsAbs(project) // no path with -trimpath
	revision := settings["vcs.revision"]
	switch {
	case !known || revision == "":
		return "unknown"
	case settings["vcs.modified"] == "true":
		return fmt.Sprintf("%.12s+changes", revision)
	}
	return fmt.Sprintf("%.12s", revision)
}
