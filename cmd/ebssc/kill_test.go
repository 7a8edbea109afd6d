package main

import (
	"bufio"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"

	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/train"
)

var (
	kills = flag.Int("kills", 3, "how often TestInterrupted kills the program")
	whole = flag.Bool("whole", false, "kill all of profile smoke, not a part that is quick")
)

// digits is a folder with made images of digits, 1000 each for training and for tests.
func digits(t *testing.T) string {
	folder := t.TempDir()
	datasettest.MNIST(t, folder, 1000)
	return folder
}

// smoke is the run that tests kill: rows of a table, curves and figures.
func smoke(data, results string) []string {
	args := []string{"run", "all", "--profile", "smoke", "--backend", "cpu", "--data", data, "--results", results}
	if *whole {
		return args
	}
	return append(args, "--only", "unroll-0,unroll-1", "--epochs", "2", "--images", "500")
}

// A program that is killed again and again, at random moments and just after it touched a file, goes on with the same command
// and ends with the same tables, byte for byte but for the time that it took. SIGTERM ends it in one line, with the status that
// shells expect, and it goes on likewise. (TestInterruptedRunGoesOn has SIGINT.)
func TestInterrupted(t *testing.T) {
	data, unbroken := digits(t), t.TempDir()
	if *whole {
		data = datasettest.CIFAR10(t)
		datasettest.MNIST(t, data, 1000)
	}
	succeeds(t, smoke(data, unbroken)...)
	t.Run("killed", func(t *testing.T) { killed(t, data, unbroken) })
	t.Run("SIGTERM", func(t *testing.T) { signalled(t, data, unbroken, 143) })
	t.Run("SIGHUP, unread", func(t *testing.T) { unread(t, data) })
}

// killed kills the program so often, or until it ends first, and then lets it finish.
func killed(t *testing.T, data, unbroken string) {
	results := t.TempDir()
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	rng := rand.New(rand.NewPCG(1, 2))
	count := 0
	for count < *kills {
		p := start(t, smoke(data, results)...)
		waitForFiles(t, results, 1+rng.IntN(8)) // a run and its record are about as many
		if count%2 == 0 {
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond) // in the midst of training, too
		}
		require.NoError(t, p.Process.Signal(syscall.SIGKILL))
		status := p.status(t)
		if status == 0 {
			break
		}
		require.Equal(t, -1, status, p.stderr.String())
		count++
	}
	require.Greater(t, count, 0, "it had ended before it was killed")
	stdout := succeeds(t, smoke(data, results)...)
	require.Equal(t, tables(t, unbroken), tables(t, results))
	require.Contains(t, stdout, "all runs, trials too")
	requireNoLeftovers(t, results)
	unfinished, err := filepath.Glob(filepath.Join(temporary, ".*"))
	require.NoError(t, err)
	require.Empty(t, unfinished, "files are written beside their places, where the next run removes what a kill left")
}

// waitForFiles waits until so many things have happened to files below a folder: made, written, renamed.
func waitForFiles(t *testing.T, folder string, count int) {
	watcher, err := fsnotify.NewWatcher()
	require.NoError(t, err)
	defer watcher.Close()
	watch := func(folder string) {
		require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				err = watcher.Add(path)
			}
			return err
		}))
	}
	watch(folder)
	// What takes longer than this happens at no file.
	deadline := time.After(20 * time.Second)
	for range count {
		select {
		case event := <-watcher.Events:
			if info, err := os.Stat(event.Name); err == nil && info.IsDir() && event.Has(fsnotify.Create) {
				watch(event.Name)
			}
		case err := <-watcher.Errors:
			require.NoError(t, err)
		case <-deadline:
			return
		}
	}
}

// requireNoLeftovers requires that reports are whole: no temporary file lies beside them.
func requireNoLeftovers(t *testing.T, results string) {
	require.NoError(t, filepath.WalkDir(results, func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && entry.Name() == train.Checkpoints {
			return filepath.SkipDir
		}
		require.False(t, !entry.IsDir() && strings.HasPrefix(entry.Name(), "."), "%s was left behind", path)
		return err
	}))
}

// signalled stops the program once, with the signal of that exit status, and then lets it finish.
func signalled(t *testing.T, data, unbroken string, status int) {
	results := t.TempDir()
	p := start(t, smoke(data, results)...)
	waitForFiles(t, results, 4) // the folders, the lock, the first checkpoint
	require.NoError(t, p.Process.Signal(syscall.Signal(status-128)))
	require.Equal(t, status, p.status(t))
	require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), p.stderr.String())
	require.Contains(t, p.stderr.String(), "run the same command to go on")
	succeeds(t, smoke(data, results)...)
	require.Equal(t, tables(t, unbroken), tables(t, results))
}

// unread closes the output of the program, which goes on until the terminal's end stops it, and saves a checkpoint.
func unread(t *testing.T, data string) {
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	p := startInto(t, writer, append(row("unroll-0", data, t.TempDir()), "--epochs", "200")...)
	require.NoError(t, writer.Close())
	lines := bufio.NewScanner(reader)
	for lines.Scan() && !strings.Contains(lines.Text(), "epoch 2 of 200") {
	}
	require.NoError(t, reader.Close())
	time.Sleep(time.Second) // epochs of some milliseconds, whose lines nobody reads
	stop := syscall.SIGHUP
	if signal.Ignored(stop) { // by nohup, which the program inherits
		stop = syscall.SIGTERM
	}
	require.NoError(t, p.Process.Signal(stop))
	for range 3 { // shells and the kernel send more of them
		if stop == syscall.SIGHUP {
			time.Sleep(time.Millisecond)
			_ = p.Process.Signal(stop) // fails where the program has ended
		}
	}
	require.Equal(t, 128+int(stop), p.status(t), p.stderr.String())
	require.Contains(t, p.stderr.String(), "run the same command to go on")
}
