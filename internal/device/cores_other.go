//go:build !linux

package device

// PinThread does nothing: threads are kept on cores on Linux only.
func PinThread(share, shares int) error { return nil }
