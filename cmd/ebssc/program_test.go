package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// program is the built ebssc.
var program string

// TestMain builds the program once.
func TestMain(m *testing.M) {
	status, err := withProgram(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func withProgram(m *testing.M) (status int, err error) {
	folder, err := os.MkdirTemp("", "ebssc-test")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "ebssc")
	if out, err := exec.Command("go", "build", "-o", program,
		"ebsscgo/cmd/ebssc").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building ebssc: %w: %s", err, out)
	}
	return m.Run(), nil
}

// process is a running ebssc.
type process struct {
	*exec.Cmd
	stderr bytes.Buffer
}

// start starts ebssc with arguments. It ends with the test at the latest.
func start(t *testing.T, stdout io.Writer, args ...string) *process {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{Cmd: exec.CommandContext(ctx, program, args...)}
	p.Stdout, p.Stderr = stdout, &p.stderr
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		cancel()
		p.Wait() // fails where it was waited for
	})
	return p
}

// status waits for the end of a process; -1 is that of a killed one.
func (p *process) status(t *testing.T) int {
	var failure *exec.ExitError
	if err := p.Wait(); err != nil && !errors.As(err, &failure) {
		require.NoError(t, err)
	}
	return p.ProcessState.ExitCode()
}

// line requires that a process ends with that status and one line of error, and returns the line.
func (p *process) line(t *testing.T, status int) string {
	require.Equal(t, status, p.status(t), p.stderr.String())
	require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), p.stderr.String())
	return p.stderr.String()
}

// succeeds runs ebssc and requires that nothing goes wrong.
func succeeds(t *testing.T, args ...string) string {
	var stdout bytes.Buffer
	p := start(t, &stdout, args...)
	require.Zero(t, p.status(t), p.stderr.String())
	return stdout.String()
}

// The real program from declarations to reports at profile smoke: a row of the table, and a network
// that is decoded.
func TestSmoke(t *testing.T) {
	t.Parallel()
	results := t.TempDir()
	args := []string{"run", "all", "--profile", "smoke", "--only", "ssc-ebc67",
		"--backend", "cpu", "--data", datasettest.CIFAR10(t), "--results", results}
	out := succeeds(t, args...)
	require.Regexp(t, `(?s)epoch 4 of 4.*\nMODEL .*\nall of it: \S+README\.md\n$`, out)
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "all of it: ") { // with the path of a test's folder
			require.LessOrEqual(t, utf8.RuneCountInString(line), 81, line)
		}
	}
	// made images are not those of the committed results
	folder := filepath.Join(results, "smoke-cifar10-unknown")
	reports := filetest.Tree(t, folder, train.Checkpoints)
	require.Contains(t, reports, report.File)
	require.Contains(t, reports["table.csv"], "ssc-ebc67")
	require.Contains(t, reports["decodings.csv"], "conv7")
	records, err := record.LoadAll(filepath.Join(folder, record.Folder))
	require.NoError(t, err)
	require.Len(t, records, 1)
	for id := range records {
		require.FileExists(t, record.NetworkFile(folder, id))
	}

	// The same records give the same reports, also where the output of what made them was full.
	device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer device.Close()
	require.Contains(t, start(t, device, args...).line(t, 1), "no space left")
	require.NoError(t, os.Remove(filepath.Join(folder, report.File)))
	succeeds(t, "report", "--results", results)
	require.Equal(t, reports, filetest.Tree(t, folder, train.Checkpoints))
	require.Contains(t, succeeds(t, "compare", folder, folder), "SSC+EBC₆₋₇")
}

// startUntil starts ebssc, and returns when it has written a text, with what it wrote before.
// Nobody reads on.
func startUntil(t *testing.T, text string, args ...string) (p *process, before string) {
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	p = start(t, writer, args...)
	require.NoError(t, writer.Close())
	defer reader.Close()
	for lines := bufio.NewScanner(reader); lines.Scan(); before += lines.Text() + "\n" {
		if strings.Contains(lines.Text(), text) {
			return p, before
		}
	}
	require.FailNow(t, "it ended before it wrote "+text, before+p.stderr.String())
	return nil, ""
}

// results are the networks and the records of a folder of results, without what the clock says.
func results(t *testing.T, folder string) (networks []string, records map[string]record.Record) {
	records, err := record.LoadAll(filepath.Join(folder, record.Folder))
	require.NoError(t, err)
	for id, r := range records {
		r.Seconds, r.Finished, r.SHA256, r.Origin.Cores = 0, time.Time{}, "", 0
		for i := range r.Curve {
			r.Curve[i].Seconds = 0
		}
		records[id] = r
		networks = append(networks, filetest.Read(t, record.NetworkFile(folder, id)))
	}
	return networks, records
}

// An error is one line also where there is no home, and the libraries would complain of that.
func TestWithoutHome(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(program, "report", "--results", t.TempDir())
	cmd.Env = []string{"GLIBC_TUNABLES=glibc.malloc.hugetlb=0"}
	out, err := cmd.CombinedOutput()
	require.ErrorContains(t, err, "exit status 1")
	require.Regexp(t, `^ebssc: no runs are recorded in [^\n]+\n$`, string(out))
}

// A program that is killed in mid-training, and then stopped by a signal, goes on with the same
// command and ends with the bits of an unbroken one, which trains its runs side by side. Meanwhile
// no other process trains the same run.
func TestKilled(t *testing.T) {
	t.Parallel()
	data, whole, broken := t.TempDir(), t.TempDir(), t.TempDir()
	datasettest.MNIST(t, data, 1000)
	args := func(results string, more ...string) []string {
		return append([]string{"run", "unroll", "--profile", "smoke", "--only", "unroll-0", "--seeds",
			"2", "--epochs", "14", "--images", "500",
			"--backend", "cpu", "--data", data, "--results", results}, more...)
	}
	p, _ := startUntil(t, "epoch 1 of 14", args(whole, "--jobs", "2")...)
	require.Zero(t, p.status(t), "it goes on where nobody reads what it writes")

	p, _ = startUntil(t, "seed 1: epoch 3 of 14", args(broken)...)
	require.NoError(t, p.Process.Kill())
	require.Equal(t, -1, p.status(t))
	p, before := startUntil(t, "seed 2: epoch 3 of 14", args(broken)...)
	require.Contains(t, before, "seed 1: resumed at")
	require.NoError(t, p.Process.Signal(syscall.SIGSTOP))
	require.Contains(t, start(t, nil, args(broken)...).line(t, 1), "another process is training")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Process.Signal(syscall.SIGCONT))
	require.Contains(t, p.line(t, 143), "ebssc: interrupted; run the same command to go on")

	// A signal ends it also where the checkpoint cannot be saved, which it says.
	checkpoints, err := filepath.Glob(filepath.Join(broken, "*", train.Checkpoints, "*.previous.ckpt"))
	require.NoError(t, err)
	require.Len(t, checkpoints, 1)
	require.NoError(t, os.Rename(checkpoints[0], checkpoints[0]+".aside"))
	require.NoError(t, os.MkdirAll(filepath.Join(checkpoints[0], "in the way"), 0o755))
	// so that the program does not inherit nohup's
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for _, stop := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
		p, _ = startUntil(t, "seed 2: compiling", args(broken)...)
		require.NoError(t, p.Process.Signal(stop))
		line := p.line(t, 128+int(stop))
		require.Regexp(t, "saving a checkpoint: .*; interrupted; run the same command to go on", line)
		require.NotContains(t, line, "Loop.", "words of the training loop")
	}
	require.NoError(t, os.RemoveAll(checkpoints[0]))
	require.Contains(t, succeeds(t, args(broken)...), "seed 2: resumed at")

	const folder = "smoke-mnist-unknown" // made images are not those of the committed results
	networks, records := results(t, filepath.Join(whole, folder))
	require.Len(t, records, 2)
	for _, r := range records {
		require.Less(t, r.TestErr, 20.0, "it learns")
	}
	brokenNetworks, brokenRecords := results(t, filepath.Join(broken, folder))
	require.Equal(t, records, brokenRecords)
	require.ElementsMatch(t, networks, brokenNetworks)

	// These are trials: in the list of runs, and in no table. Their networks decode a test image, and
	// classify it as a picture.
	require.Contains(t, succeeds(t, "runs", "--profile", "smoke", "--results", whole), "--images 50")
	require.FileExists(t, filepath.Join(whole, folder, report.File))
	require.NoFileExists(t, filepath.Join(whole, folder, "unroll.csv"))
	pictures := filepath.Join(t.TempDir(), "new")
	on := []string{"--run", "unroll-0", "--backend", "cpu", "--data", data, "--results", whole}
	succeeds(t, append([]string{"decode", "--image", "7", "--out",
		filepath.Join(pictures, "seven.png")}, on...)...)
	require.Contains(t, succeeds(t, append([]string{"classify", filepath.Join(pictures, "seven.png"),
		"--out", pictures}, on...)...), "PROBABILITY")
	require.FileExists(t, filepath.Join(pictures, "seven_hypotheses.png"))
	require.Contains(t, refused(t, "halve", "--run", "unroll-0", "--backend", "none", "--data",
		pictures, "--results", whole), `backend "none"`, "said before data are looked for")

	// A bad picture among good ones is named in a line; the others are classified.
	var stdout bytes.Buffer
	bad := filepath.Join(pictures, "Thumbs.db")
	filetest.Write(t, bad, "no picture")
	among := append([]string{"classify", bad, filepath.Join(pictures, "seven.png"), "--out", pictures},
		on...)
	require.Contains(t, start(t, &stdout, among...).line(t, 1), bad)
	require.Equal(t, 1, strings.Count(stdout.String(), "PROBABILITY"))
}

// stubs stand for the programs that run_all.sh calls: no C compiler is called, and the program that
// is built prints its folder and its arguments.
var stubs = map[string]string{
	"go": `case $1$2 in
envGOVERSION) echo ${GO:-go99.0} ;;
envCC) echo ${COMPILER:-true} ;;
build*)
  [ "$GOWORK$CGO_ENABLED" = off1 ] && mkdir -p bin
  printf '#!/bin/sh\npwd\necho "$@"\n' >bin/ebssc; chmod +x bin/ebssc ;;
esac`,
	"python3": `exit ${PIP:-0}`,
}

// run_all.sh runs in its project's folder, called by its path or through a symbolic link, and names
// what is missing.
func TestRunAll(t *testing.T) {
	project, programs := t.TempDir(), t.TempDir()
	for _, name := range []string{"run_all.sh", "build.sh", "go.mod"} {
		filetest.Copy(t, filepath.Join("../..", name), filepath.Join(project, name))
	}
	for name, script := range stubs {
		filetest.WriteScript(t, filepath.Join(programs, name), script)
	}
	run := func(path string, environment ...string) (string, error) {
		cmd := exec.Command(path, "--results", "out")
		cmd.Env = append(append(os.Environ(),
			"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH")), environment...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	script, link := filepath.Join(project, "run_all.sh"), filepath.Join(programs, "link")
	require.NoError(t, os.Symlink(script, link))
	for _, path := range []string{script, link} {
		out, err := run(path)
		require.NoError(t, err, out)
		require.Regexp(t, `^build\.sh: records will name the commit "unknown": .*\n(build\.sh: building; .*\n)?`+
			project+"\nrun all --results out\n$", out, path)
	}
	for missing, says := range map[string]string{
		"GO=go1.20": "build.sh: found go1.20", "COMPILER=nocc": "build.sh: .*nocc",
		"PIP=1":       "run_all.sh: .*pip",
		"GO=go1.26.4": "build.sh: found go1.26.4; install go1.26.5 or newer",
	} {
		out, err := run(script, missing)
		require.Error(t, err, missing)
		require.Regexp(t, `^`+says+`.*\n$`, out)
	}
}
