package bench

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
)

const (
	torchPeer = "torch"
	jaxPeer   = "jax"
)

// PeerNames are the other programs, which this one is measured against.
var PeerNames = []string{torchPeer, jaxPeer}

// GPUPeerNames are those that it is measured against on a GPU.
var GPUPeerNames = []string{jaxPeer}

// sources are the peers' programs and requirements.txt.
//
//go:embed peers
var sources embed.FS

// peer is a program that is measured. It runs as a process of its own and takes its turns when told so (peers/peer.py says how).
type peer struct {
	name, version string
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	stderr        bytes.Buffer
}

// peerCommand is the command line of another program for the case in folder, in which it puts that program's source. platform
// is what it computes on, cpu or cuda.
func peerCommand(python, name, folder, platform string) ([]string, error) {
	for _, file := range []string{"peer.py", name + "_peer.py"} {
		source, err := sources.ReadFile("peers/" + file)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, file), source, 0o644); err != nil {
			return nil, err
		}
	}
	return []string{python, filepath.Join(folder, name+"_peer.py"), folder, platform}, nil
}

// startPeer starts a program for the case in folder by its command line, and returns it with its class scores of the batch.
func startPeer(ctx context.Context, name string, command []string, folder string) (*peer, []float32, error) {
	p, err := startProcess(name, exec.CommandContext(ctx, command[0], command[1:]...))
	if err != nil {
		return nil, nil, err
	}
	scores, err := numpy.FromNpyFile(filepath.Join(folder, name+".npy"))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: its class scores: %w", name, err), p.close())
	}
	values, err := tensors.CopyFlatData[float32](scores)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: its class scores: %w", name, err), p.close())
	}
	return p, values, nil
}

// startProcess starts a peer's process and waits until it is ready.
func startProcess(name string, cmd *exec.Cmd) (p *peer, err error) {
	p = &peer{name: name, cmd: cmd}
	cmd.Stderr = &p.stderr
	cmd.WaitDelay = 5 * time.Second
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	answer, err := p.answer()
	if err != nil {
		return nil, err
	}
	version, ok := strings.CutPrefix(answer, "ready ")
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s answered %q, not that it is ready", name, answer), p.close())
	}
	p.version = version
	return p, nil
}

// answer reads a line. Where there is none, the process has ended, and the error says why.
func (p *peer) answer() (string, error) {
	line, err := p.out.ReadString('\n')
	if err == nil {
		return strings.TrimSpace(line), nil
	}
	err = p.cmd.Wait()
	last := lastLine(p.stderr.Bytes())
	if last == "" {
		return "", fmt.Errorf("%s ended before its turn was over (%v)", p.name, err)
	}
	return "", fmt.Errorf("%s failed: %s", p.name, last)
}

// lastLine of what a process wrote to its standard error: what went wrong, after warnings and traces.
func lastLine(stderr []byte) string {
	text := strings.TrimSpace(string(stderr))
	return text[strings.LastIndex(text, "\n")+1:]
}

func (p *peer) turn(what string, steps int) (spent cost, err error) {
	// Where the process has ended, answer says why.
	_, writeErr := fmt.Fprintf(p.in, "%s %d\n", what, steps)
	answer, err := p.answer()
	if err != nil {
		return cost{}, err
	}
	_, err = fmt.Sscan(answer, &spent.seconds, &spent.peak)
	if err != nil || writeErr != nil || !(spent.seconds > 0) {
		return cost{}, fmt.Errorf("%s answered %q to %q, not what a step costs", p.name, answer, what)
	}
	return spent, nil
}

func (p *peer) label() (name, version string) { return p.name, p.version }

// close ends the process; one that has failed before has said why then.
func (p *peer) close() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	if err := p.in.Close(); err != nil {
		return fmt.Errorf("ending %s: %w", p.name, err)
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("ending %s: %w", p.name, err)
	}
	return nil
}

// agree says where a program's class scores differ from ours by more than the tolerance, relative to the largest.
func agree(name string, got, want []float32, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s has %d class scores, not %d", name, len(got), len(want))
	}
	var largest, difference float64
	for i := range want {
		largest = max(largest, math.Abs(float64(want[i])))
		difference = max(difference, math.Abs(float64(got[i])-float64(want[i])))
	}
	if !(difference <= tolerance*largest) {
		return fmt.Errorf("%s computes something else: its class scores differ by %g, the largest is %g", name, difference, largest)
	}
	return nil
}
