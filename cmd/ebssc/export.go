package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/train"
)

func exportCommand() *cobra.Command {
	var flags struct{ run, out, results, data, backend string }
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a trained model to an .npz file, with images and their scores, to check against another implementation",
		Long: "Write a trained model to an .npz file: every variable under its name (conv1/dictionary, …), and the first 64\n" +
			"preprocessed test images (images), their labels (labels) and the model's class scores (logits).",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.run == "" || flags.out == "" {
				return errors.New("--run and --out are needed; runs are the folders in results/<profile>/runs")
			}
			run, folder, err := train.FindRun(flags.results, flags.run)
			if err != nil {
				return err
			}
			study, _, ok := experiments.StudyOf(run.Experiment)
			if !ok {
				return fmt.Errorf("run %s is of an experiment %q that this program does not know", flags.run, run.Experiment)
			}
			set, err := dataset.Find(cmd.Context(), study.Images, flags.data, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if set.Name != run.Dataset || set.SHA256 != run.SHA256 {
				return fmt.Errorf("run %s was trained on %s with SHA-256 %s, but the data here is %s with %s: give the same with --data",
					flags.run, run.Dataset, run.SHA256, set.Name, set.SHA256)
			}
			opened, _, err := device.Open(cmd.Context(), flags.backend, 1)
			if err != nil {
				return err
			}
			defer opened.Finalize()
			lab := &train.Lab{Backend: opened, Set: set, Log: cmd.ErrOrStderr()}
			return lab.Export(cmd.Context(), run, folder, flags.out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.run, "run", "", "the run's ID")
	f.StringVar(&flags.out, "out", "", "the .npz file to write")
	f.StringVar(&flags.results, "results", "results", "folder of the results")
	f.StringVar(&flags.data, "data", "", "folder with the data (default: $"+dataset.EnvVar+" or the cache)")
	f.StringVar(&flags.backend, "backend", "", "cpu, cuda, go or a GoMLX configuration")
	return cmd
}
