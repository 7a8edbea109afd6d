package cli

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

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ebsscgo/experiments"
	"ebsscgo/experiments/backend"
	"ebsscgo/experiments/data"
	"ebsscgo/experiments/report"
	"ebsscgo/experiments/training"
	"ebsscgo/internal/errline"
)

// runFlags are what `run` can be told.
type runFlags struct {
	profile, data, backend, results, set string
	only                                 []string
	seeds, epochs, heldOut, image        int
	ablations                            bool
}

func runCommand(stdout io.Writer) *cobra.Command {
	run := &cobra.Command{
		Use:   "run",
		Short: "Train experiments and write their results",
		Long: "Train experiments and write their results.\n\n" +
			"A run that was stopped goes on from its last epoch; one that is finished is not trained again. A run is\n" +
			"identified by everything that decides its result, so changing a setting makes another run beside it.",
	}
	var reported, ablations []experiments.Study
	for _, study := range experiments.Studies {
		if study.Ablation {
			ablations = append(ablations, study)
		} else {
			reported = append(reported, study)
		}
	}
	commands := []*cobra.Command{runStudies(stdout, "all", "what the paper reports: all studies but the ablations", reported, ablations...)}
	drawn := slices.DeleteFunc(slices.Clone(reported), func(study experiments.Study) bool { return study.Report == experiments.Rows })
	commands = append(commands, runStudies(stdout, "figures", "what the paper's figures show, and draw them: all studies but the table", drawn))
	for _, study := range experiments.Studies {
		commands = append(commands, runStudies(stdout, study.Name, study.About+", on "+string(study.Images), []experiments.Study{study}))
	}
	return group(run, commands...)
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
			strings.ReplaceAll(experiments.Recipe.String(), ";", "\n  "),
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
	f.StringVar(&flags.profile, "profile", "quick", "scale: smoke, quick or paper (see ebssc list)")
	f.StringSliceVar(&flags.only, "only", nil, "names of the experiments to train (default: all)")
	f.IntVar(&flags.seeds, "seeds", 0, "number of seeds an experiment (default: the profile's)")
	f.IntVar(&flags.epochs, "epochs", 0, "number of epochs (default: the profile's)")
	f.IntVar(&flags.heldOut, "held-out", 0, "measure on this many held-out training images, not on the test set; for choosing settings")
	f.StringVar(&flags.set, "set", "", "hyperparameters, as \"key=value;key=value\"")
	f.StringVar(&flags.data, "data", "", "folder with CIFAR-10 in its binary version, or MNIST, or both (default: $"+data.EnvVar+", the cache, or a download)")
	f.StringVar(&flags.backend, "backend", "", "cpu, cuda, go or a GoMLX configuration (default: $GOMLX_BACKEND, or the best there is)")
	f.StringVar(&flags.results, "results", "results", "folder for the results")
	if len(ablations) > 0 {
		f.BoolVar(&flags.ablations, "ablations", false, "train what the paper does not report, too: rows with one thing changed")
	}
	flags.image = -1
	if haveDecodings(studies) {
		f.IntVar(&flags.image, "image", -1, "number of the test image whose decodings are drawn (default: the first airplane, the first 0)")
	}
	return cmd
}

// run trains the experiments of the studies that the flags ask for.
func run(ctx context.Context, stdout io.Writer, studies []experiments.Study, flags runFlags) error {
	profile, err := experiments.FindProfile(flags.profile)
	if err != nil {
		return err
	}
	if flags.seeds < 0 || flags.epochs < 0 || flags.heldOut < 0 {
		return errors.New("--seeds, --epochs and --held-out must not be negative")
	}
	overrides, err := experiments.ParseSettings(flags.set)
	if err != nil {
		return err
	}
	if studies, err = only(studies, flags.only); err != nil {
		return err
	}
	opened, choice, err := backend.Open(ctx, flags.backend)
	if err != nil {
		return err
	}
	defer opened.Finalize()
	if choice.Warning != "" {
		fmt.Fprintln(stdout, "warning: "+choice.Warning)
	}
	for _, study := range studies {
		set, err := images(ctx, stdout, study.Images, flags.data)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s: %s on %s (%s), profile %s: results in %s\n", study.Name, data.Title(set.Name), choice.Name, choice.Why,
			profile.Name, filepath.Join(flags.results, profile.Name))
		s := studyRun{flags: flags, profile: profile, scale: profile.Scale(study), overrides: overrides, backend: choice.Name, stdout: stdout,
			lab: &training.Lab{Backend: opened, Set: set, Log: stdout, Terminal: isTerminal(stdout), Commit: commit()}}
		if flags.seeds > 0 {
			s.scale.Seeds = flags.seeds
		}
		if flags.epochs > 0 {
			s.scale.Epochs = flags.epochs
		}
		if err := s.train(ctx, study); err != nil {
			return err
		}
	}
	if flags.heldOut > 0 {
		return nil
	}
	if haveDecodings(studies) {
		if err := drawShrinkage(opened, filepath.Join(flags.results, profile.Name)); err != nil {
			return err
		}
	}
	// Once more: the ledger rests on decodings, too, which are measured after training.
	if err := report.Write(flags.results, profile.Name); err != nil {
		return err
	}
	if err := report.WritePage(flags.results, profile.Name); err != nil {
		return err
	}
	return show(stdout, flags.results, profile.Name, studies)
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
	flags     runFlags
	profile   experiments.Profile
	scale     experiments.Scale
	overrides experiments.Settings
	backend   string
	lab       *training.Lab
	stdout    io.Writer
}

// train trains them and reports after each.
func (s studyRun) train(ctx context.Context, study experiments.Study) error {
	for _, e := range study.Experiments {
		runs, err := experiments.Plan(e, s.profile.Name, s.scale, s.lab.Dataset(), s.backend, s.overrides, s.flags.heldOut)
		if err != nil {
			return err
		}
		for _, run := range runs {
			result, err := s.lab.Train(ctx, run, filepath.Join(s.flags.results, s.profile.Name, report.RunsFolder))
			if err != nil {
				return err
			}
			measured := "test error"
			if run.HeldOut > 0 {
				measured = "held-out error"
			}
			fmt.Fprintf(s.stdout, "%s, seed %d: train error %.2f%%, %s %.2f%%, %.0f s\n", e.Title, run.Seed,
				result.TrainErr, measured, result.TestErr, result.Seconds)
		}
		if err := report.Write(s.flags.results, s.profile.Name); err != nil {
			return err
		}
	}
	if study.Report == experiments.Decodings && s.flags.heldOut == 0 {
		return s.decode(ctx, study)
	}
	return nil
}

// show prints the reports of the studies, and the ledger if anything is measured for it.
func show(stdout io.Writer, results, profile string, studies []experiments.Study) error {
	var reports []string
	for _, study := range studies {
		reports = append(reports, report.Summary(study))
	}
	for _, name := range append(reports, report.ClaimsFile) {
		text, err := os.ReadFile(filepath.Join(results, profile, name))
		if name == report.ClaimsFile && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the report: %w", err)
		}
		fmt.Fprintf(stdout, "\n%s", text)
	}
	fmt.Fprintf(stdout, "\nall of it on one page: %s\n", filepath.Join(results, profile, report.PageFile))
	return nil
}

// images are those of a kind; where a stand-in takes their place, it says so.
func images(ctx context.Context, stdout io.Writer, which experiments.Images, folder string) (*data.Set, error) {
	return training.FindSet(ctx, which, folder, stdout, func(why error) {
		fmt.Fprintf(stdout, "CIFAR-10 cannot be had here (%s): the same networks on MNIST instead, padded to 32×32×3; "+
			"for CIFAR-10 give its folder with --data\n", errline.Of(why))
	})
}

// isTerminal says whether w shows cursor movements.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
