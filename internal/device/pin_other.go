//go:build !linux

package device

// PinThread returns the number of cores in the share, at least 1. It pins nothing: threads are kept
// on cores on Linux only.
func PinThread(share, shares int) (cores int, err error) { return max(1, Cores()/shares), nil }
