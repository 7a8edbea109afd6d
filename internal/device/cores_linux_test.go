package device

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// affinity are the cores of a thread that PinThread was called on; it returned as many.
func affinity(t *testing.T, share, shares int) (cores unix.CPUSet) {
	done := make(chan error)
	go func() { // without UnlockOSThread the thread ends with the goroutine
		count, err := PinThread(share, shares)
		if err == nil {
			err = unix.SchedGetaffinity(0, &cores)
		}
		if err == nil && count != cores.Count() {
			err = fmt.Errorf("PinThread returned %d, the thread has %d cores", count, cores.Count())
		}
		done <- err
	}()
	require.NoError(t, <-done)
	return cores
}

// Shares are disjoint and together all cores; with more shares than cores every thread keeps all.
func TestPinThread(t *testing.T) {
	var all unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	count := all.Count()
	for shares := 1; shares <= count; shares++ {
		var together unix.CPUSet
		sum := 0
		for share := range shares {
			own := affinity(t, share, shares)
			require.GreaterOrEqual(t, own.Count(), count/shares)
			sum += own.Count()
			for cpu := range 64 * len(own) {
				if own.IsSet(cpu) {
					together.Set(cpu)
				}
			}
		}
		require.Equal(t, count, sum)
		require.Equal(t, all, together)
	}
	require.Equal(t, all, affinity(t, 0, count+1))
}
