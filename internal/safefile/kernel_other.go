//go:build !linux

package safefile

import "os"

// ofKernel returns false: other systems have no /proc that is looked for here.
func ofKernel(*os.File) bool { return false }
