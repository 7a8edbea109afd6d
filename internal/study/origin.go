package study

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/klauspost/cpuid/v2"

	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
)

// originOf names the program and the computer for records.
func originOf(choice device.Choice, devices int) record.Origin {
	return record.Origin{
		Commit: Commit(), Go: runtime.Version(), GoMLX: device.GoMLXVersion(), Backend: choice.Name, Plugin: plugin(choice.Plugin), Devices: devices,
		System: runtime.GOOS + "/" + runtime.GOARCH, CPU: cpuid.CPU.BrandName, Cores: device.Cores(), GPU: choice.GPU(),
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

// unknownCommit stands for the commit where the program does not know it.
const unknownCommit = "unknown"

// Commit is the git commit that the program was built from, with "+changes" if its folder differed from it; "unknown" where the go command
// wrote none into the program.
func Commit() string {
	commit, changes := unknownCommit, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				commit = setting.Value[:min(12, len(setting.Value))]
			case setting.Key == "vcs.modified" && setting.Value == "true":
				changes = "+changes"
			}
		}
	}
	return commit + changes
}
