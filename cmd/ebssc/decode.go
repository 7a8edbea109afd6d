package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/atomicfile"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/study"
	"ebsscgo/internal/train"
)

// theRun is the help of --run.
const theRun = "the run's ID, as ebssc runs lists it"

// modelFlags select a recorded run and where it computes.
type modelFlags struct{ run, out, results, data, backend string }

// add adds the flags, with the help of two.
func (flags *modelFlags) add(cmd *cobra.Command, run, out string) {
	f := cmd.Flags()
	f.StringVar(&flags.run, "run", "", run)
	f.StringVar(&flags.out, "out", "", out)
	f.StringVar(&flags.results, "results", "results", "folder of the results")
	f.StringVar(&flags.data, "data", "", dataFlag+" (default: $"+dataset.EnvVar+", the cache, or a download)")
	f.StringVar(&flags.backend, "backend", "", "cpu, cuda, go or a GoMLX configuration")
}

// find finds the run's record.
func (flags *modelFlags) find() (record.Record, error) {
	if flags.run == "" || flags.out == "" {
		return record.Record{}, errors.New("--run and --out are needed; ebssc runs lists the runs")
	}
	if info, err := os.Stat(flags.out); err == nil && !info.Mode().IsRegular() {
		return record.Record{}, fmt.Errorf("%s is no regular file: name another one with --out", flags.out)
	}
	if err := folderExists(filepath.Dir(flags.out)); err != nil {
		return record.Record{}, err
	}
	return findRecord(flags.results, flags.run)
}

// folderExists returns an error if results cannot be written into a folder, since it is none.
func folderExists(folder string) error {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s: make it, or name another one with --out", folder)
	}
	return nil
}

// start starts a session for a record's profile, with the runner on the record's data set or a copy of it.
func (flags *modelFlags) start(cmd *cobra.Command, r record.Record) (*study.Session, *train.Runner, error) {
	s, _, err := study.Suite.Experiment(r.Run.Experiment)
	if err != nil {
		return nil, nil, err
	}
	session, err := study.Start(cmd.Context(), study.Options{Profile: r.Run.Profile, Data: flags.data, Backend: flags.backend,
		Devices: 1, Jobs: 1, Results: flags.results, Out: cmd.ErrOrStderr()})
	if err != nil {
		return nil, nil, err
	}
	runner, err := session.RunnerOf(cmd.Context(), s.Images, r.Run.Dataset)
	if err != nil {
		session.Close()
		return nil, nil, fmt.Errorf("%s: %w", r.ID, err)
	}
	if runner.Dataset() != r.Run.Dataset {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s was trained on %s; it sees the same pictures here as %s, preprocessed as these are\n",
			r.ID, dataset.Title(r.Run.Dataset.Name), dataset.Title(runner.Set.Name))
	}
	return session, runner, nil
}

// allRecords yields the records of all profiles, up to the first error.
func allRecords(results string) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for _, profile := range experiments.Profiles {
			records, err := record.LoadAll(filepath.Join(results, profile.Name, record.Folder))
			if err != nil {
				yield(record.Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// findRecord finds the record of a run in the profiles' results.
func findRecord(results, id string) (record.Record, error) {
	if err := study.ResultsExist(results); err != nil {
		return record.Record{}, err
	}
	for _, profile := range experiments.ProfileNames() {
		if r, err := record.Load(record.Path(filepath.Join(results, profile, record.Folder), id)); !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return record.Record{}, fmt.Errorf("no record of a run %q in %s: ebssc runs lists the runs", id, results)
}

func exportCommand() *cobra.Command {
	var flags modelFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a trained model to an .npz file, with images and their scores, to check against another implementation",
		Long: "Write a trained model to an .npz file: its description (run, JSON in bytes), every variable under its name\n" +
			"(conv1/dictionary, …), and the first 64 preprocessed test images (images), their labels (labels) and the model's\n" +
			"class scores (logits). docs/scores.py computes these scores with NumPy alone,\n" +
			"but for networks with sweeps of inference.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := flags.find()
			if err != nil {
				return err
			}
			session, runner, err := flags.start(cmd, r)
			if err != nil {
				return err
			}
			defer session.Close()
			trained, err := train.LoadModel(r.Run, session.Folder())
			if err != nil {
				return err
			}
			return runner.Export(cmd.Context(), r.Run, trained, flags.out)
		},
	}
	flags.add(cmd, theRun, "the .npz file to write")
	return cmd
}

func decodeCommand(stdout io.Writer) *cobra.Command {
	var flags modelFlags
	var image int
	cmd := &cobra.Command{
		Use:     "decode",
		Short:   "Draw a test image decoded from every level of a trained network (the paper's Fig. 4)",
		Args:    cobra.NoArgs,
		Example: "  ebssc decode --run ssc-ebc17-1-0123456789 --image 7 --out seven.png",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := flags.find()
			if err != nil {
				return err
			}
			if filepath.Ext(flags.out) != ".png" {
				return fmt.Errorf("--out %s: the picture is a PNG: choose a name that ends in .png", flags.out)
			}
			if image < 0 || image >= r.Run.TestImages {
				return fmt.Errorf("--image %d: the run has %d test images, the first is 0", image, r.Run.TestImages)
			}
			session, runner, err := flags.start(cmd, r)
			if err != nil {
				return err
			}
			defer session.Close()
			figure, err := session.DecodeImage(cmd.Context(), runner, r.Run, image)
			if err != nil {
				return err
			}
			return writePicture(stdout, figure, flags.out)
		},
	}
	flags.add(cmd, theRun, "the .png file to write")
	cmd.Flags().IntVar(&image, "image", 0, "number of the test image, from 0")
	return cmd
}

// writePicture writes a figure to a .png file, and prints the file's name.
func writePicture(stdout io.Writer, figure plot.Figure, name string) error {
	picture, err := figure.PNG()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(name, picture); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	fmt.Fprintln(stdout, name)
	return nil
}
