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
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
)

const (
	torchPeer = "torch"
	jaxPeer   = "jax"
)

// PeerNames are the programs that this one is measured against.
var PeerNames = []string{torchPeer, jaxPeer}

// sources are the peers' programs and requirements.txt.
//
//go:embed peers
var sources embed.FS

// peer is another program, which runs as a process and takes its turns when told so (peers/peer.py says how).
type peer struct {
	name, version string
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	stderr        bytes.Buffer
}

// startPeer starts a peer for the case in folder and returns it with its class scores of the batch.
func startPeer(ctx context.Context, name, python, folder string) (*peer, []float32, error) {
	for _, file := range []string{"peer.py", name + "_peer.py"} {
		source, err := sources.ReadFile("peers/" + file)
		if err != nil {
			return nil, nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, file), source, 0o644); err != nil {
			return nil, nil, err
		}
	}
	p, err := startProcess(name, exec.CommandContext(ctx, python, filepath.Join(folder, name+"_peer.py"), folder))
	if err != nil {
		return nil, nil, err
	}
	scores, err := numpy.FromNpyFile(filepath.Join(folder, name+".npy"))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: its class scores: %w", name, err), p.close())
	}
	return p, tensors.MustCopyFlatData[float32](scores), nil
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
	text := strings.TrimSpace(p.stderr.String())
	if text == "" {
		return "", fmt.Errorf("%s ended before its turn was over (%v)", p.name, err)
	}
	return "", fmt.Errorf("%s failed: %s", p.name, text[strings.LastIndex(text, "\n")+1:])
}

func (p *peer) turn(what string, steps int) (float64, error) {
	// Where the process has ended, answer says why.
	_, writeErr := fmt.Fprintf(p.in, "%s %d\n", what, steps)
	answer, err := p.answer()
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(answer, 64)
	if err != nil || writeErr != nil || !(seconds > 0) {
		return 0, fmt.Errorf("%s answered %q to %q, not the seconds of a step", p.name, answer, what)
	}
	return seconds, nil
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
func agree(name string, got, want []float32) error {
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
