package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// roleVar makes the test's own program a peer: what it does is said in fakePeer.
const roleVar = "EBSSC_FAKE_PEER"

// fakePeer speaks the peers' protocol, as well as its role allows.
func fakePeer(role string) {
	if role == "silent" {
		return
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
		case "babbles":
			fmt.Println("soon")
		case "good":
			var what string
			var steps int
			fmt.Sscan(lines.Text(), &what, &steps)
			fmt.Println(map[string]float64{training: 1, inference: 0.25}[what]*float64(steps), 100*steps)
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
	name, version := p.label()
	require.Equal(t, "fake 1.2", name+" "+version)
	measured, err := takeTurns(t.Context(), []program{p}, training, 2)
	require.NoError(t, err)
	require.Equal(t, []measurement{{1, []float64{stepsPerTurn, stepsPerTurn}, 100 * stepsPerTurn}}, measured)
	spent, err := p.turn(inference, 2)
	require.NoError(t, err)
	require.Equal(t, cost{0.5, 200}, spent)
	require.NoError(t, p.close())
	require.True(t, p.cmd.ProcessState.Success(), "it ends with its input")
}

// What goes wrong in a peer is one line that names it.
func TestPeerFails(t *testing.T) {
	_, err := startFake(t.Context(), "silent")
	require.ErrorContains(t, err, "fake ended before its turn was over")
	_, err = startFake(t.Context(), "unready")
	require.EqualError(t, err, `fake answered "hello", not that it is ready`)

	p, err := startFake(t.Context(), "fails")
	require.NoError(t, err)
	_, err = p.turn(training, 1)
	require.EqualError(t, err, "fake failed: MemoryError: too big")
	require.NoError(t, p.close())

	p, err = startFake(t.Context(), "babbles")
	require.NoError(t, err)
	_, err = p.turn(training, 1)
	require.EqualError(t, err, `fake answered "soon" to "train", not what a step costs`)
	require.NoError(t, p.close())
}

// A peer that is stopped with the command is no error of its own: the cause is the command's.
func TestPeerIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := startFake(ctx, "good")
	require.NoError(t, err)
	cancel(errors.New("interrupted"))
	_, err = takeTurns(ctx, []program{p}, training, 1)
	require.EqualError(t, err, "interrupted")
	require.Error(t, p.close(), "it was killed")
}
