/*
Ebssc trains the networks of “Energy-Based Spherical Sparse Coding” (Kong & Fowlkes) and writes the
paper's tables with its own numbers beside the paper's.

# What is trained

A study is a table or figure of the paper, or an ablation. Its experiments are rows. A profile says
at which scale they are trained: smoke in minutes, quick in hours, weekend and paper at the paper's
width. A run is one experiment by one seed; its ID is a hash of all that decides its result.

	ebssc list                       studies and experiments, and what is recorded
	ebssc run all                    train all that the paper reports, at profile quick
	ebssc run table --only ssc-lc7   train one row of a study
	ebssc runs                       all recorded runs, and in what trials differ

A run that is stopped goes on from its checkpoint when the same command runs again. A recorded run
is not trained again. Whatever is wrong is said before anything is downloaded or trained:

	$ ebssc run table --only unroll-1
	ebssc: unroll-1 is an experiment of study unroll: ebssc run unroll --only unroll-1
	$ ebssc run table --bakend cpu
	ebssc: unknown flag: --bakend; did you mean --backend?

# Trials

A changed hyperparameter makes another run, a trial. It enters no table and no verdict. Choose
hyperparameters on held-out training images, never on the test set:

	ebssc run table --only ssc-ebc67 --held-out 5000 --set "energy_scale=30"

The list of runs names what differs, and prints the command that trains a run:

	$ ebssc runs crelu-lc7-1-dbb6f4a607
	ebssc run table --only crelu-lc7 --profile quick --seeds 5 --set "precision=bfloat16"
	$ ebssc runs --profile smoke
	ebssc: no runs are recorded at profile smoke in results: choose --profile paper or quick or weekend

# Trained networks

	ebssc classify cat.jpg           the classes of your own pictures
	ebssc decode --image 7           a test image decoded from every level
	ebssc halve --run ssc-ebc67      a network in half precision, to give to others

--run takes a run's ID, or an experiment for its network that errs least.

	$ ebssc decode --out seven.jpg
	ebssc: --out seven.jpg: the picture is a PNG: choose a name that ends in .png

# Data, backend and results

	ebssc data fetch                 download the XLA plugin, CIFAR-10 and MNIST
	ebssc doctor                     check backend, data and memory
	ebssc report                     write tables, claims and figures from the records
	ebssc compare A B                compare two folders of results row by row

Data come from --data, else from $EBSSC_DATA, else from the cache, which a download fills. The
backend comes from --backend, else from $GOMLX_BACKEND, else it is the best one here. Results go to
<results>/<profile>.

# Exit status

0, or 1 after an error, which is one line on standard error; 3 if compare finds a row that got
worse; 128 and the signal's number after an interruption.
*/
package main

import (
	"cmp"
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
	"text/template"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

func main() {
	if err := device.RestartWithHugePages(); err != nil {
		fmt.Fprintln(os.Stderr, "warning:", err)
	}
	// A run whose output nobody reads any more goes on, and saves when it is stopped.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(execute(os.Stdout, os.Stderr, os.Args[1:]))
}

// output wraps standard output or standard error. Write never fails; it keeps the first error for
// the end of the program. A closed pipe (`ebssc list | head -1`) is no error.
type output struct {
	to    io.Writer
	mutex sync.Mutex
	err   error
}

// control are characters that a terminal may take for commands, and bytes that are no characters.
var control = regexp.MustCompile(`[^\n\t\PC]|\x{FFFD}`)

// Write writes the text with control characters escaped: names of files and texts of records may
// have them.
func (o *output) Write(text []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_, err := o.to.Write(control.ReplaceAllFunc(text, func(c []byte) []byte {
		return []byte(strings.Trim(strconv.QuoteToASCII(string(c)), `"`))
	}))
	if o.err == nil && !errors.Is(err, syscall.EPIPE) {
		o.err = err
	}
	return len(text), nil
}

// execute carries out a command line and returns the exit status: 0, 1 for an error, which is one
// line on stderr, 3 where a comparison finds a row that got worse, or 128 and the signal's number
// after an interruption. A second signal ends the process at once.
func execute(stdout, stderr io.Writer, args []string) (status int) {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = signals[:3]
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	// but not SIGHUP: a terminal that goes away may send several
	defer context.AfterFunc(ctx, func() { signal.Reset(signals[:3]...) })()
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
	if errors.Is(err, errWorse) {
		status = 3
	}
	message := err.Error()
	if cause := context.Cause(ctx); cause != nil {
		caught := slices.IndexFunc(signals, func(s os.Signal) bool {
			return strings.HasPrefix(cause.Error(), s.String()) // the cause has the signal's words
		})
		status = 128 + int(signals[caught].(syscall.Signal))
		// What else went wrong is said, too, such as a checkpoint that could not be saved.
		others := slices.DeleteFunc(strings.Split(message, "\n"), func(line string) bool {
			return strings.HasSuffix(line, cause.Error()) ||
				strings.HasSuffix(line, context.Canceled.Error())
		})
		message = strings.Join(append(others, "interrupted"), "\n")
		if called.HasParent() && called.Parent().Name() == "run" {
			message += "; run the same command to go on"
		}
	}
	fmt.Fprintf(messages, "ebssc: %s\n", device.OneLine(errors.New(message)))
	return status
}

// columns is the width of all that is printed, where names and numbers allow it.
const columns = 80

// fold breaks a text into lines of the terminal's columns. Lines after the first begin with as many
// spaces as the indent says, which is the column in which the text begins.
func fold(text string, indent int) string {
	return strings.Join(report.Fold(text, columns-indent), "\n"+strings.Repeat(" ", indent))
}

// foldHelp breaks the help of a command and of all below it into lines of the terminal's columns.
func foldHelp(cmd *cobra.Command) {
	paragraphs := strings.Split(cmp.Or(cmd.Long, cmd.Short), "\n\n")
	for i := range paragraphs {
		paragraphs[i] = fold(paragraphs[i], 0)
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, sub := range cmd.Commands() {
		foldHelp(sub)
	}
}

// command returns the tree of commands.
func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "ebssc",
		Short: "Reproduce “Energy-Based Spherical Sparse Coding” (Kong & Fowlkes)",
		Long: "ebssc trains the networks of “Energy-Based Spherical Sparse Coding” (Kong & " +
			"Fowlkes) and writes the paper's tables with its own numbers beside the paper's.",
		Version: train.Versions(), SilenceUsage: true, SilenceErrors: true,
	}
	cobra.AddTemplateFuncs(template.FuncMap{"fold": fold,
		"indent": func(padding int) int { return len("  ") + padding + len(" ") }})
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", ".FlagUsagesWrapped "+strconv.Itoa(columns),
		"{{rpad .Name .NamePadding }} {{.Short}}",
		"{{rpad .Name .NamePadding }} {{fold .Short (indent .NamePadding)}}",
	).Replace(root.UsageTemplate()))
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			return cmd.RunE(cmd, words) // a mistyped command, whose flags are not known
		}
		if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if levenshtein.ComputeDistance(f.Name, unknown.GetSpecifiedName()) <= 2 {
					err = fmt.Errorf("%w; did you mean --%s?", err, f.Name)
				}
			})
		}
		return err
	})
	help := &cobra.Command{Use: "help [command]", Short: "Help about any command"}
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err == nil && cmd.HasSubCommands() && cmd.RunE != nil { // cobra's own "completion" has none
			return cmd.RunE(cmd, rest) // which knows no other words
		}
		return errors.Join(err, cmd.Help())
	}
	root.SetHelpCommand(help)
	group(root, listCommand(), runCommand(), runsCommand(), reportCommand(), compareCommand(),
		decodeCommand(), classifyCommand(), halveCommand(), doctorCommand(), dataCommand())
	foldHelp(root)
	return root
}

// group makes a command that only has subcommands: without one it prints its help, and a wrong one
// is an error.
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
		return fmt.Errorf("unknown command %q for %s%s (%[2]s --help lists all)",
			args[0], cmd.CommandPath(), hint)
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
type place struct{ pflag.Value }

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
	return p.Value.Set(path)
}

// placeFlag adds a flag that names a file or a folder.
func placeFlag(cmd *cobra.Command, path *string, name, value, about string) {
	cmd.Flags().StringVar(path, name, value, about)
	flag := cmd.Flags().Lookup(name)
	flag.Value = place{flag.Value}
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
		"torchvision, Keras or Hugging Face have them (default: $"+dataset.EnvVar+" or the cache)")
}
