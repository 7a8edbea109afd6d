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
	"slices"
	"strings"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"

	"ebsscgo/internal/cache"
)

const (
	torchPeer     = "torch"
	torchBF16Peer = "torch-bf16" // with bfloat16 autocast
	jaxPeer       = "jax"
)

// PeerNames are the other programs. Framework and variant are separated by a dash.
var PeerNames = []string{torchPeer, torchBF16Peer, jaxPeer}

// CPUPeers and GPUPeers are measured by default. Not every CPU has instructions for bfloat16; on a GPU only JAX can be measured.
var (
	CPUPeers = []string{torchPeer, jaxPeer}
	GPUPeers = []string{jaxPeer}
)

// sources are the peers' programs and requirements.txt.
//
//go:embed peers
var sources embed.FS

// peer is a measured program. It is a process that takes its turns on demand (see peers/peer.py for the protocol).
type peer struct {
	name, version string
	scores        []float32 // of the batch, with the initial variables
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	stderr        bytes.Buffer
}

// command is the command line of a program for the case in folder. It copies a peer's source there.
func (p Plan) command(name, python, folder string) ([]string, error) {
	switch name {
	case fastProgram:
		return slices.Concat(p.Self, []string{"serve", folder}), nil
	case plainProgram:
		return slices.Concat(p.Self, []string{"serve", folder, "--plain"}), nil
	}
	framework, _, _ := strings.Cut(name, "-")
	main := framework + "_peer.py"
	for _, file := range []string{"peer.py", main} {
		source, err := sources.ReadFile("peers/" + file)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, file), source, 0o644); err != nil {
			return nil, err
		}
	}
	platform := "cpu"
	if p.GPU {
		platform = "cuda"
	}
	return []string{python, filepath.Join(folder, main), folder, platform, name}, nil
}

// startPeer starts a program for the case in folder by its command line and reads its class scores.
func startPeer(ctx context.Context, name string, command []string, folder string) (*peer, error) {
	p, err := startProcess(name, exec.CommandContext(ctx, command[0], command[1:]...))
	if err != nil && ctx.Err() != nil { // a signal ends the program, too
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	scores, err := numpy.FromNpyFile(filepath.Join(folder, name+".npy"))
	if err == nil {
		p.scores, err = tensors.CopyFlatData[float32](scores)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: its class scores: %w", name, err), p.close())
	}
	return p, nil
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
		return nil, errors.Join(fmt.Errorf("%s answered %q instead of \"ready\"", name, answer), p.close())
	}
	p.version = version
	return p, nil
}

// answer reads a line. Without one the process has ended, and the error says why.
func (p *peer) answer() (string, error) {
	line, err := p.out.ReadString('\n')
	if err == nil {
		return strings.TrimSpace(line), nil
	}
	err = p.cmd.Wait()
	if last := cache.LastLine(p.stderr.String()); last != "" {
		return "", fmt.Errorf("%s failed: %s", p.name, last)
	}
	return "", fmt.Errorf("%s ended before its turn was over (%v)", p.name, err)
}

// turn takes steps of training or inference and returns what one costs on average.
func (p *peer) turn(what string, steps int) (spent cost, err error) {
	// If the process has ended, answer says why.
	memoryErr := resetPeakMemory(p.cmd.Process.Pid)
	_, writeErr := fmt.Fprintf(p.in, "%s %d\n", what, steps)
	answer, err := p.answer()
	if err != nil {
		return cost{}, err
	}
	if _, err = fmt.Sscan(answer, &spent.seconds); err != nil || writeErr != nil || !(spent.seconds > 0) {
		return cost{}, fmt.Errorf("%s answered %q to %q instead of seconds", p.name, answer, what)
	}
	spent.peakMiB, err = peakMemory(p.cmd.Process.Pid)
	return spent, errors.Join(memoryErr, err)
}

// close ends the process by ending its input; one that failed has reported its error before.
func (p *peer) close() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	if err := errors.Join(p.in.Close(), p.cmd.Wait()); err != nil {
		return fmt.Errorf("ending %s: %w", p.name, err)
	}
	return nil
}

// agree returns an error if a program's class scores differ from ours by more than the tolerance, relative to the largest.
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
