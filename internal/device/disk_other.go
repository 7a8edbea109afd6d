//go:build !unix

package device

import "errors"

// freeBytes is not known on this system.
func freeBytes(string) (uint64, error) {
	return 0, errors.ErrUnsupported
}
