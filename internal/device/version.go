package device

import "runtime/debug"

// GoMLXVersion is the version of GoMLX that the program was built with, as in go.mod; empty where that is not known.
func GoMLXVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, dependency := range info.Deps {
		if dependency.Path == "github.com/gomlx/gomlx" {
			return dependency.Version
		}
	}
	return ""
}
