package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// roleVar makes the test's own program a peer; fakePeer lists the roles.
const roleVar = "EBSSC_FAKE_PEER"

// fakePeer speaks the peers' protocol, as well as its role allows.
func fakePeer(role string) {
	switch role {
	case "silent":
		return
	case "never ready":
		time.Sleep(time.Hour)
	}
	if role == "unready" {
		fmt.Println("hello")
	} else {
		fmt.Println("ready 1.2")
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch role {
		case "fails":
			fmt.Fprintln(os.Stderr, "Traceback …\nMemoryError: too big")
			os.Exit(1)
		case "hangs":
			time.Sleep(time.Hour)
		case "babbles":
			fmt.Println("soon")
		case "good":
			var what string
			var steps int
			fmt.Sscan(lines.Text(), &what, &steps)
			fmt.Println(map[string]float64{training: 1, inference: 0.25}[what] * float64(steps))
		}
	}
}

// startFake starts a fake peer.
func startFake(ctx context.Context, role string) (*peer, error) {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	return startProcess("fake", cmd)
}

func TestPeerTakesTurns(t *testing.T) {
	p, err := startFake(t.Context(), "good")
	require.NoError(t, err)
	require.Equal(t, "fake 1.2", p.name+" "+p.version)
	measured, err := takeTurns(t.Context(), []*peer{p}, training, 2)
	require.NoError(t, err)
	require.Equal(t, 1., measured[0].first)
	for _, round := range measured[0].rounds {
		require.Equal(t, float64(stepsPerTurn), round.seconds)
		require.Equal(t, runtime.GOOS == "linux", round.peakMiB > 0)
	}
	require.Len(t, measured[0].rounds, 2)
	spent, err := p.turn(inference, 2)
	require.NoError(t, err)
	require.Equal(t, 0.5, spent.seconds)
	require.NoError(t, p.close())
	require.True(t, p.cmd.ProcessState.Success(), "it ends with its input")
}

// What goes wrong in a peer is one line that names it.
func TestPeerFails(t *testing.T) {
	_, err := startFake(t.Context(), "silent")
	require.ErrorContains(t, err, "fake ended before its turn was over")
	_, err = startFake(t.Context(), "unready")
	require.EqualError(t, err, `fake answered "hello" instead of "ready"`)

	p, err := startFake(t.Context(), "fails")
	require.NoError(t, err)
	_, err = p.turn(training, 1)
	require.EqualError(t, err, "fake failed: MemoryError: too big")
	require.NoError(t, p.close())

	p, err = startFake(t.Context(), "babbles")
	require.NoError(t, err)
	_, err = p.turn(training, 1)
	require.EqualError(t, err, `fake answered "soon" to "train" instead of seconds`)
	require.NoError(t, p.close())
}

// If a peer stops because the command does, the error is the command's: in the middle of a turn, and while the peer starts.
func TestPeerIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := startFake(ctx, "hangs")
	require.NoError(t, err)
	time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("interrupted")) })
	_, err = takeTurns(ctx, []*peer{p}, training, 1)
	require.EqualError(t, err, "interrupted")
	_ = p.close() // an error if the signal came first
	require.NotNil(t, p.cmd.ProcessState, "it has ended")

	t.Setenv(roleVar, "never ready")
	ctx, cancel = context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New("interrupted")) })
	_, err = startPeer(ctx, "fake", []string{os.Args[0]}, t.TempDir())
	require.EqualError(t, err, "interrupted")
}
