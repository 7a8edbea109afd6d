// Command ebssc trains the networks of “Energy-Based Spherical Sparse Coding” and writes the paper's tables anew.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/train"
)

func main() {
	if err := device.RestartWithHugePages(); err != nil {
		fmt.Fprintln(os.Stderr, "warning:", err)
	}
	signal.Ignore(syscall.SIGPIPE) // a run whose output nobody reads any more goes on, and saves when it is stopped
	os.Exit(execute(os.Stdout, os.Stderr, os.Args[1:]))
}

// output is standard output or standard error. Whoever writes goes on after an error, the first of which it keeps. What nobody reads any more is no
// error, as in "ebssc list | head -1".
type output struct {
	to    io.Writer
	mutex sync.Mutex
	err   error
}

// control are characters that a terminal may take for commands, and bytes that are no characters.
var control = regexp.MustCompile(`[^\n\t\PC]|\x{FFFD}`)

// Write writes the text with control characters escaped: names of files and texts of records may have them.
func (o *output) Write(text []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_, err := o.to.Write(control.ReplaceAllFunc(text, func(c []byte) []byte { return []byte(strings.Trim(strconv.QuoteToASCII(string(c)), `"`)) }))
	if o.err == nil && !errors.Is(err, syscall.EPIPE) {
		o.err = err
	}
	return len(text), nil
}

// execute carries out a command line and returns the exit status: 0, 1 for an error, which is one line on stderr, 3 where a
// comparison finds a row that got worse, or 128 and the signal's number after an interruption. A second signal ends the process at once.
func execute(stdout, stderr io.Writer, args []string) (status int) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = signals[:3]
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	defer context.AfterFunc(ctx, func() { signal.Reset(signals[:3]...) })() // but not SIGHUP: a terminal that goes away may send several
	out, messages := &output{to: stdout}, &output{to: stderr}
	root := command()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(messages)
	called, err := root.ExecuteContextC(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("standard output: %w", out.err)
	}
	if err == nil {
		return 0
	}
	status = 1
	if errors.As(err, new(regression)) {
		status = 3
	}
	message := err.Error()
	if cause := context.Cause(ctx); cause != nil {
		caught := slices.IndexFunc(signals, func(s os.Signal) bool { return strings.HasPrefix(cause.Error(), s.String()) }) // it names it in words
		status = 128 + int(signals[caught].(syscall.Signal))
		others := slices.DeleteFunc(strings.Split(message, "\n"), func(line string) bool { // but not a checkpoint that could not be saved
			return strings.HasSuffix(line, cause.Error()) || strings.HasSuffix(line, context.Canceled.Error())
		})
		message = strings.Join(append(others, "interrupted"), "\n")
		if called.HasParent() && called.Parent().Name() == "run" {
			message += "; run the same command to go on"
		}
	}
	fmt.Fprintf(messages, "ebssc: %s\n", device.OneLine(errors.New(message)))
	return status
}

// command is the tree of commands.
func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "ebssc",
		Short: "Reproduce “Energy-Based Spherical Sparse Coding” (Kong & Fowlkes)",
		Long: "ebssc trains the networks of “Energy-Based Spherical Sparse Coding” (Kong & Fowlkes) and writes the\n" +
			"paper's tables with its own numbers beside the paper's.",
		Version: train.Versions(), SilenceUsage: true, SilenceErrors: true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if levenshtein.ComputeDistance(f.Name, unknown.GetSpecifiedName()) <= 2 {
					err = fmt.Errorf("%w; did you mean --%s?", err, f.Name)
				}
			})
		}
		return err
	})
	root.SetHelpCommand(&cobra.Command{Use: "help [command]", Short: "Help about any command", RunE: func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err == nil && cmd.HasSubCommands() && cmd.RunE != nil { // cobra's own "completion" has none
			return cmd.RunE(cmd, rest) // which knows no other words
		}
		return errors.Join(err, cmd.Help())
	}})
	return group(root, listCommand(), runCommand(), runsCommand(), reportCommand(), compareCommand(), decodeCommand(), classifyCommand(), halveCommand(),
		doctorCommand(), dataCommand())
}

// group makes a command that only has subcommands: without one it prints its help, and a wrong one is an error.
func group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.SuggestionsMinimumDistance, cmd.Args = 2, cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
		}
		return fmt.Errorf("unknown command %q for %s%s (%[2]s --help lists all)", args[0], cmd.CommandPath(), hint)
	}
	for _, sub := range subcommands {
		if count := sub.Args; count != nil {
			sub.Args = func(cmd *cobra.Command, args []string) error {
				if err := count(cmd, args); err != nil {
					return fmt.Errorf("%w; usage: %s", err, cmd.UseLine()) // it knows how many, and not of what
				}
				return nil
			}
		}
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// place is the value of a flag that names a file or a folder.
type place struct{ path *string }

// String is the path.
func (p place) String() string {
	if p.path == nil {
		return ""
	}
	return *p.path
}

// Type is a word for the help.
func (p place) Type() string { return "string" }

// Set refuses a home folder that no shell has put in the place of ~: it would become a folder of
// that name.
func (p place) Set(path string) error {
	if path == "" { // as from --data "$UNSET": not what someone meant who named a folder
		return errors.New("it is empty: name a folder, or leave the flag out")
	}
	if strings.HasPrefix(path, "~") {
		return errors.New("the shell expands ~ only where a word begins with it: " +
			"put a space in the place of =, or write $HOME")
	}
	*p.path = path
	return nil
}

// placeFlag adds a flag that names a file or a folder.
func placeFlag(cmd *cobra.Command, path *string, name, value, about string) {
	*path = value
	cmd.Flags().Var(place{path}, name, about)
}

// resultsFlag, profileFlag and dataFlag add flags that several commands have.
func resultsFlag(cmd *cobra.Command, results *string) {
	placeFlag(cmd, results, "results", "results", "folder of all results")
}

func profileFlag(cmd *cobra.Command, profile *string) {
	var names []string
	for _, p := range experiments.Profiles {
		names = append(names, p.Name)
	}
	cmd.Flags().StringVar(profile, "profile", "quick", "scale: "+strings.Join(names, ", "))
}

func dataFlag(cmd *cobra.Command, folder *string) {
	placeFlag(cmd, folder, "data", "", "folder with CIFAR-10, MNIST or both, as their authors, "+
		"torchvision,\nKeras or Hugging Face have them (default: $"+dataset.EnvVar+" or the cache)")
}
