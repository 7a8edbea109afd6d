//go:build !linux

package device

// PinThread does nothing and returns the number of all cores: threads are kept on cores on Linux only.
func PinThread(share, shares int) (cores int, err error) { return Cores(), nil }
