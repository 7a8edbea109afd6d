package device

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// affinity returns the cores of a thread that PinThread was called on, and what it returned.
func affinity(t *testing.T, share, shares int) (cores unix.CPUSet, counted int) {
	done := make(chan error)
	go func() { // without UnlockOSThread the thread ends with the goroutine
		var err error
		counted, err = PinThread(share, shares)
		if err == nil {
			err = unix.SchedGetaffinity(0, &cores)
		}
		done <- err
	}()
	require.NoError(t, <-done)
	return cores, counted
}

// Shares are disjoint and together all cores; with more shares than cores every thread keeps all,
// and counts on one. A quota of processor time below the number of cores lowers what a thread
// counts on.
func TestPinThread(t *testing.T) {
	var all unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	count := all.Count()
	for shares := 1; shares <= count; shares++ {
		seen := map[int]bool{}
		for share := range shares {
			own, counted := affinity(t, share, shares)
			require.Equal(t, max(1, min(own.Count(), Cores()/shares)), counted)
			require.GreaterOrEqual(t, own.Count(), count/shares)
			for cpu := range 64 * len(own) {
				if own.IsSet(cpu) {
					require.False(t, seen[cpu], "shares are disjoint")
					seen[cpu] = true
				}
			}
		}
		require.Len(t, seen, count)
	}
	own, counted := affinity(t, 0, count+1)
	require.Equal(t, all, own)
	require.Equal(t, 1, counted)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // as under a quota of one core
	_, counted = affinity(t, 0, 1)
	require.Equal(t, 1, counted)
}
