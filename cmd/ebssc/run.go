package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// runFlags are what `run` can be told.
type runFlags struct {
	profile, data, backend, results, set string
	only                                 []string
	seeds, epochs, heldOut, image, jobs  int
	devices                              int
	ablations                            bool
}

// add adds the flags that decide which runs there are, and where.
func (flags *runFlags) add(f *pflag.FlagSet) {
	f.StringVar(&flags.profile, "profile", "quick", "scale: smoke, quick or paper (see ebssc list)")
	f.IntVar(&flags.seeds, "seeds", 0, "number of seeds an experiment (default: the profile's)")
	f.IntVar(&flags.epochs, "epochs", 0, "number of epochs (default: the profile's)")
	f.IntVar(&flags.heldOut, "held-out", 0, "measure on this many held-out training images, not on the test set; for choosing settings")
	f.StringVar(&flags.set, "set", "", "hyperparameters, as \"key=value;key=value\"")
	f.StringVar(&flags.data, "data", "", "folder with CIFAR-10 in its binary version, or MNIST, or both (default: $"+dataset.EnvVar+", the cache, or a download)")
	f.StringVar(&flags.backend, "backend", "", "cpu, cuda, go or a GoMLX configuration (default: $GOMLX_BACKEND, or the best there is)")
	f.IntVar(&flags.devices, "devices", 1, "how many of the backend's devices share each training batch, with plain operations (cpu has any number, for trying out)")
	f.StringVar(&flags.results, "results", "results", "folder for the results")
}

func runCommand(stdout io.Writer) *cobra.Command {
	run := &cobra.Command{
		Use:   "run",
		Short: "Train experiments and write their results",
		Long: "Train experiments and write their results.\n\n" +
			"A run that was stopped goes on where it was; one that is finished is not trained again. A run is\n" +
			"identified by everything that decides its result, so changing a setting makes another run beside it.",
	}
	reported, ablations := reportedOrNot()
	commands := []*cobra.Command{runStudies(stdout, "all", "what the paper reports: all studies but the ablations", reported, ablations...)}
	drawn := slices.DeleteFunc(slices.Clone(reported), func(study experiments.Study) bool { return study.Report == experiments.Rows })
	commands = append(commands, runStudies(stdout, "figures", "what the paper's figures show, and draw them: all studies but the table", drawn))
	for _, study := range experiments.Studies {
		commands = append(commands, runStudies(stdout, study.Name, study.About+", on "+string(study.Images), []experiments.Study{study}))
	}
	group(run, commands...)
	var id, plan string
	var line int
	var flags runFlags
	run.Flags().StringVar(&id, "id", "", "carry out this one run, as ebssc plan prints it")
	run.Flags().StringVar(&plan, "plan", "", "carry out one run of this file, which ebssc plan printed, with its flags")
	run.Flags().IntVar(&line, "line", 0, "number of the run's line in the plan, from 1")
	run.MarkFlagsRequiredTogether("plan", "line")
	flags.add(run.Flags())
	run.RunE = func(cmd *cobra.Command, _ []string) error {
		if plan != "" {
			if cmd.Flags().NFlag() > 2 {
				return errors.New("--plan and --line take all other flags from the plan: give none beside them")
			}
			planned, err := lineOf(plan, line)
			if err != nil {
				return err
			}
			if err := cmd.ParseFlags(planned); err != nil {
				return fmt.Errorf("line %d of %s: %w", line, plan, err)
			}
		}
		if id == "" {
			return cmd.Help()
		}
		return runByID(cmd.Context(), stdout, id, flags)
	}
	return run
}

// reportedOrNot are the studies that the paper reports, and the others.
func reportedOrNot() (reported, ablations []experiments.Study) {
	for _, study := range experiments.Studies {
		if study.Ablation {
			ablations = append(ablations, study)
		} else {
			reported = append(reported, study)
		}
	}
	return reported, ablations
}

// runStudies is the command that runs some studies, and with --ablations others after them.
func runStudies(stdout io.Writer, name, about string, studies []experiments.Study, ablations ...experiments.Study) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   name,
		Short: "Train " + about,
		Long: "Train " + about + ", and write the results to <results>/<profile>/.\n\n" +
			"--set changes hyperparameters: \"key=value;key=value\", or \"file:PATH\" with such lines. Their names and values\n" +
			"in the recipe (profiles change some; what they mean is said at their constants in experiments and ebssc):\n\n  " +
			strings.ReplaceAll(experiments.Known().String(), ";", "\n  "),
		Args: cobra.NoArgs,
		Example: fmt.Sprintf("  ebssc run %s --profile smoke\n  ebssc run %[1]s --only %s --seeds 3 --set=\"learning_rate=0.002;beta=0.01\"",
			name, studies[0].Experiments[0].Name),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.ablations {
				studies = append(slices.Clone(studies), ablations...)
			}
			return run(cmd.Context(), stdout, studies, flags)
		},
	}
	f := cmd.Flags()
	flags.add(f)
	f.StringSliceVar(&flags.only, "only", nil, "names of the experiments to train (default: all)")
	f.IntVar(&flags.jobs, "jobs", 1, "how many runs of a study are trained at a time; they share the cores, or the GPU")
	if len(ablations) > 0 {
		f.BoolVar(&flags.ablations, "ablations", false, "train what the paper does not report, too: rows with one thing changed")
	}
	flags.image = -1
	if haveDecodings(studies) {
		f.IntVar(&flags.image, "image", -1, "number of the test image whose decodings are drawn (default: the first airplane, the first 0)")
	}
	return cmd
}

// request is what the flags ask for, checked.
type request struct {
	runFlags
	scaleOf   experiments.Profile
	overrides experiments.Settings
}

// check makes a request of the flags.
func (flags runFlags) check() (r request, err error) {
	r.runFlags = flags
	if r.scaleOf, err = experiments.FindProfile(flags.profile); err != nil {
		return request{}, err
	}
	if flags.seeds < 0 || flags.epochs < 0 || flags.heldOut < 0 || flags.jobs < 0 {
		return request{}, errors.New("--seeds, --epochs, --held-out and --jobs must not be negative")
	}
	if flags.devices < 1 {
		return request{}, errors.New("--devices must be at least 1")
	}
	r.overrides, err = experiments.ParseSettings(flags.set)
	return r, err
}

// plan makes the runs of an experiment.
func (r request) plan(study experiments.Study, e experiments.Experiment, set experiments.Dataset, backend string) ([]experiments.Run, error) {
	scale := r.scaleOf.Scale(study)
	if r.seeds > 0 {
		scale.Seeds = r.seeds
	}
	if r.epochs > 0 {
		scale.Epochs = r.epochs
	}
	return experiments.Plan(e, r.profile, scale, set, r.machine(backend), r.overrides, r.heldOut)
}

// machine is what carries the runs out, with a backend of that name.
func (r request) machine(backend string) experiments.Machine {
	return experiments.Machine{Backend: backend, Devices: r.devices}
}

// folder is that of the profile's results.
func (r request) folder() string { return filepath.Join(r.results, r.profile) }

// run trains the experiments of the studies that the flags ask for.
func run(ctx context.Context, stdout io.Writer, studies []experiments.Study, flags runFlags) error {
	request, err := flags.check()
	if err != nil {
		return err
	}
	if studies, err = only(studies, flags.only); err != nil {
		return err
	}
	opened, choice, err := openBackend(ctx, stdout, flags.backend, flags.devices)
	if err != nil {
		return err
	}
	defer opened.Finalize()
	for _, study := range studies {
		s := studyRun{request: request, study: study, choice: choice, stdout: stdout}
		if err := s.prepare(ctx, opened); err != nil {
			return err
		}
		if err := s.train(ctx); err != nil {
			return err
		}
	}
	if flags.heldOut > 0 {
		return nil
	}
	if haveDecodings(studies) {
		if err := drawShrinkage(opened, request.folder()); err != nil {
			return err
		}
	}
	if err := report.WritePage(flags.results, flags.profile); err != nil {
		return err
	}
	return show(stdout, request.folder(), studies)
}

// openBackend starts a backend of at least that many devices, which the caller finalizes, with a line about what is not as it should be.
func openBackend(ctx context.Context, stdout io.Writer, spec string, devices int) (compute.Backend, device.Choice, error) {
	opened, choice, err := device.Open(ctx, spec, devices)
	if err == nil && choice.Warning != "" {
		fmt.Fprintln(stdout, "warning: "+choice.Warning)
	}
	return opened, choice, err
}

// only are the studies with the named experiments alone; no names means all of them.
func only(studies []experiments.Study, names []string) (chosen []experiments.Study, err error) {
	found, err := experiments.Find(experiments.All(studies), names)
	if err != nil {
		return nil, err
	}
	for _, study := range studies {
		study.Experiments = slices.DeleteFunc(slices.Clone(study.Experiments), func(e experiments.Experiment) bool {
			return !slices.ContainsFunc(found, func(f experiments.Experiment) bool { return f.Name == e.Name })
		})
		if len(study.Experiments) > 0 {
			chosen = append(chosen, study)
		}
	}
	return chosen, nil
}

// studyRun trains the experiments of a study.
type studyRun struct {
	request
	study  experiments.Study
	choice device.Choice
	lab    *train.Lab
	stdout io.Writer
}

// prepare finds the study's images.
func (s *studyRun) prepare(ctx context.Context, opened compute.Backend) error {
	set, err := dataset.Find(ctx, s.study.Images, s.data, s.stdout)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "%s: %s on %s (%s), profile %s: results in %s\n", s.study.Name, dataset.Title(set.Name), s.machine(s.choice.Name), s.choice.Why,
		s.profile, s.folder())
	terminal := isTerminal(s.stdout) && s.jobs <= 1 // several progress bars would write over one another
	s.stdout = &lines{to: s.stdout}
	s.lab = &train.Lab{Backend: opened, Set: set, Log: s.stdout, Terminal: terminal, Commit: commit()}
	return nil
}

// lines is written to by several runs at a time.
type lines struct {
	to    io.Writer
	mutex sync.Mutex
}

// Write writes all of it before anything else.
func (l *lines) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.to.Write(text)
}

// train trains them, several at a time if asked for, and reports after each run.
func (s studyRun) train(ctx context.Context) error {
	jobs, running := errgroup.WithContext(ctx)
	jobs.SetLimit(max(1, s.jobs))
	for _, e := range s.study.Experiments {
		runs, err := s.plan(s.study, e, s.lab.Dataset(), s.choice.Name)
		if err != nil {
			return errors.Join(err, jobs.Wait())
		}
		for _, run := range runs {
			if running.Err() != nil {
				break // what failed or was stopped is returned below
			}
			jobs.Go(func() error {
				if err := s.trainOne(running, e, run); err != nil {
					return err
				}
				return report.Write(s.results, s.profile)
			})
		}
	}
	if err := jobs.Wait(); err != nil {
		return err
	}
	if s.study.Report == experiments.Decodings && s.heldOut == 0 {
		return s.decode(ctx)
	}
	return nil
}

// trainOne carries out a run.
func (s studyRun) trainOne(ctx context.Context, e experiments.Experiment, run experiments.Run) error {
	result, err := s.lab.Train(ctx, run, filepath.Join(s.folder(), report.RunsFolder))
	if err != nil {
		return err
	}
	measured := "test error"
	if run.HeldOut > 0 {
		measured = "held-out error"
	}
	fmt.Fprintf(s.stdout, "%s, seed %d: train error %.2f%%, %s %.2f%%, %.0f s\n", e.Title, run.Seed,
		result.TrainErr, measured, result.TestErr, result.Seconds)
	return nil
}

// show prints the reports of the studies, and the ledger if anything is measured for it.
func show(stdout io.Writer, folder string, studies []experiments.Study) error {
	var reports []string
	for _, study := range studies {
		reports = append(reports, report.Summary(study))
	}
	for _, name := range append(reports, report.ClaimsFile) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if name == report.ClaimsFile && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the report: %w", err)
		}
		fmt.Fprintf(stdout, "\n%s", text)
	}
	fmt.Fprintf(stdout, "\nall of it on one page: %s\n", filepath.Join(folder, report.PageFile))
	return nil
}

// isTerminal says whether w shows cursor movements.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
