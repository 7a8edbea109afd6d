package device

import "runtime/debug"

// GoMLXVersion is the version of GoMLX that the program was built with, as in go.mod; "unknown" where the program does not tell.
func GoMLXVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dependency := range info.Deps {
		if dependency.Path == "github.com/gomlx/gomlx" {
			return dependency.Version
		}
	}
	return "unknown"
}
