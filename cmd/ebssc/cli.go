package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ebsscgo/internal/device"
	"ebsscgo/internal/study"
)

// execute carries out a command line and returns the exit status: 0, 1 for an error, which is one line on stderr, 3 where a
// comparison finds a row that got worse, or 128 and the signal's number after an interruption.
func execute(stdout, stderr io.Writer, args []string) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	stdout = &pipe{stdout}
	root := command(stdout, stderr)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	called, err := root, study.Suite.Validate()
	if err == nil {
		called, err = root.ExecuteContextC(ctx)
	}
	if err == nil {
		return 0
	}
	var signalled interrupted
	if errors.As(err, &signalled) || errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &signalled) {
		for _, other := range besidesInterruption(err) { // such as a checkpoint that could not be saved
			fmt.Fprintf(stderr, "ebssc: %s\n", device.OneLine(other))
		}
		message := signalled.Error()
		if strings.HasPrefix(called.CommandPath()+" ", "ebssc run ") { // and its subcommands
			message += "; run the same command to go on"
		}
		fmt.Fprintf(stderr, "ebssc: %s\n", message)
		return 128 + int(signalled.signal)
	}
	fmt.Fprintf(stderr, "ebssc: %s\n", device.OneLine(err))
	var worse regression
	if errors.As(err, &worse) {
		return 3
	}
	return 1
}

// pipe is standard output. What nobody reads any more is dropped and is no error, as in "ebssc list | head -1".
type pipe struct{ to io.Writer }

// Write writes the text, or drops it.
func (p *pipe) Write(text []byte) (int, error) {
	n, err := p.to.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		return len(text), nil
	}
	return n, err
}

// Fd is the file descriptor if this is a file, so that others can ask whether it is a terminal, else one that no file has.
func (p *pipe) Fd() uintptr {
	if file, ok := p.to.(*os.File); ok {
		return file.Fd()
	}
	return ^uintptr(0)
}

// interrupted is the cause with which a command ends after a signal.
type interrupted struct{ signal syscall.Signal }

// Error says that the command was interrupted.
func (i interrupted) Error() string { return "interrupted" }

// besidesInterruption are the errors that were joined with those of an interruption.
func besidesInterruption(err error) []error {
	if !errors.Is(err, context.Canceled) && !errors.As(err, new(interrupted)) {
		return []error{err}
	}
	switch err := err.(type) {
	case interface{ Unwrap() []error }:
		var others []error
		for _, one := range err.Unwrap() {
			others = append(others, besidesInterruption(one)...)
		}
		return others
	case interface{ Unwrap() error }:
		return besidesInterruption(err.Unwrap())
	}
	return nil
}

// interruptible is a context that SIGINT, SIGTERM and SIGHUP end; under nohup SIGHUP does not. A second SIGINT or SIGTERM ends the process at once.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		received, ok := <-signals
		if !ok {
			return
		}
		signal.Reset(syscall.SIGINT, syscall.SIGTERM) // but not SIGHUP: a terminal that goes away may send several
		cancel(interrupted{received.(syscall.Signal)})
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// group makes a command that only has subcommands: without one it prints its help, and a wrong one is an error.
func group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
		}
		return fmt.Errorf("unknown command %q for %s%s (%s --help lists all)", args[0], cmd.CommandPath(), hint, cmd.CommandPath())
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subcommands...)
	return cmd
}

// command is the tree of commands.
func command(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "ebssc",
		Short: "Reproduce “Energy-Based Spherical Sparse Coding” (Kong & Fowlkes)",
		Long: "ebssc trains the networks of “Energy-Based Spherical Sparse Coding” (Kong & Fowlkes) and writes the\n" +
			"paper's tables with its own numbers beside the paper's.",
		Version:       "-", // that --version exists; the template says what it prints
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cobra.AddTemplateFunc("versions", study.Versions)
	root.SetVersionTemplate("{{versions}}\n")
	return group(root, listCommand(), runCommand(stdout), runsCommand(stdout), reportCommand(stdout), compareCommand(stdout), decodeCommand(stdout), classifyCommand(stdout), exportCommand(), doctorCommand(), dataCommand(stderr), benchCommand(stdout))
}
