package train

import (
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/klauspost/cpuid/v2"

	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// Versions names the program, Go, GoMLX and the system in a line.
func Versions() string {
	o := OriginOf(device.Choice{})
	return fmt.Sprintf("ebssc, commit %s, %s, GoMLX %s, %s", o.Commit, o.Go, o.GoMLX, o.System)
}

// OriginOf names the program and the computer for records, and an XLA plugin by its file and the
// start of its SHA-256.
func OriginOf(choice device.Choice) record.Origin {
	o := record.Origin{Commit: record.Commit(), Go: runtime.Version(), GoMLX: "unknown",
		Backend: choice.Name, Devices: 1, System: runtime.GOOS + "/" + runtime.GOARCH,
		CPU: cpuid.CPU.BrandName, Cores: device.Cores(), Threads: choice.Threads(),
		GPU: choice.GPU()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == "github.com/gomlx/gomlx" {
				o.GoMLX = dependency.Version
			}
		}
	}
	if choice.Plugin == "" {
		return o
	}
	o.Plugin = filepath.Base(choice.Plugin)
	if file, err := safefile.Open(choice.Plugin); err == nil {
		defer file.Close()
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err == nil {
			o.Plugin += fmt.Sprintf(", SHA-256 %.12x", hash.Sum(nil))
		}
	}
	return o
}
