package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/study"
	"ebsscgo/internal/train"
)

// networkFlags select a recorded run whose trained network is used, where it computes, and where pictures go.
type networkFlags struct{ run, out, results, data, backend string }

// add adds the flags; out is the default of --out.
func (flags *networkFlags) add(cmd *cobra.Command, out, about string) {
	f := cmd.Flags()
	f.StringVar(&flags.run, "run", "", "a run's ID, or the experiment whose best run is meant (default: the best run of all on CIFAR-10)")
	f.StringVar(&flags.out, "out", out, about)
	f.StringVar(&flags.backend, "backend", "", "cpu, cuda, go or a GoMLX configuration")
	dataFlag(cmd, &flags.data)
	resultsFlag(cmd, &flags.results)
}

// find finds the record of the run with the ID, or else the best of those that --run means and whose networks are here.
func (flags *networkFlags) find() (best record.Record, err error) {
	folders, err := study.Folders(flags.results)
	if err != nil {
		return best, err
	}
	for folder := range folders {
		records, err := record.LoadAll(filepath.Join(flags.results, folder, record.Folder))
		if err != nil {
			return best, err
		}
		for id, r := range records {
			s, _, undeclared := study.Suite.Experiment(r.Run.Experiment)
			_, missing := os.Stat(train.NetworkFile(filepath.Join(flags.results, folder), id))
			byDefault := flags.run == "" && s.Images == experiments.CIFAR10 && !dataset.StandsIn(r.Run.Dataset.Name)
			switch {
			case id == flags.run:
				return r, nil
			case undeclared != nil, missing != nil, r.Run.HeldOut > 0, best.ID != "" && r.TestErr >= best.TestErr:
			case byDefault, r.Run.Experiment == flags.run:
				best = r
			}
		}
	}
	if best.ID == "" {
		return best, fmt.Errorf("no network of %s is in %s: ebssc runs lists the runs, for --run", cmp.Or(flags.run, "CIFAR-10"), flags.results)
	}
	return best, nil
}

// start makes the folder for pictures, and starts a session for a record's profile with the runner on the record's data set or a copy of it.
func (flags *networkFlags) start(cmd *cobra.Command, r record.Record, folder string) (*study.Session, *train.Runner, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, nil, fmt.Errorf("a folder for pictures: %w; name another one with --out", err)
	}
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

// writePicture writes a figure to a .png file, and prints the file's name.
func writePicture(stdout io.Writer, figure plot.Figure, name string) error {
	picture, err := figure.PNG()
	if err != nil {
		return err
	}
	if err := safefile.Write(name, picture); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	fmt.Fprintln(stdout, name)
	return nil
}

func decodeCommand() *cobra.Command {
	var flags networkFlags
	var image int
	cmd := &cobra.Command{
		Use: "decode", Short: "Draw a test image decoded from every level of a trained network (the paper's Fig. 4)", Args: cobra.NoArgs,
		Example: "  ebssc decode --run ssc-ebc17 --image 7 --out seven.png",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if filepath.Ext(flags.out) != ".png" {
				return fmt.Errorf("--out %s: the picture is a PNG: choose a name that ends in .png", flags.out)
			}
			r, err := flags.find()
			if err != nil {
				return err
			}
			if image < 0 || image >= r.Run.TestImages {
				return fmt.Errorf("--image %d: the run has %d test images, the first is 0", image, r.Run.TestImages)
			}
			session, runner, err := flags.start(cmd, r, filepath.Dir(flags.out))
			if err != nil {
				return err
			}
			defer session.Close()
			figure, err := session.DecodeImage(cmd.Context(), runner, r, image)
			if err != nil {
				return err
			}
			return writePicture(cmd.OutOrStdout(), figure, flags.out)
		},
	}
	flags.add(cmd, "decoded.png", "the .png file to write")
	cmd.Flags().IntVar(&image, "image", 0, "number of the test image, from 0")
	return cmd
}

func classifyCommand() *cobra.Command {
	var flags networkFlags
	cmd := &cobra.Command{
		Use: "classify PICTURE…", Args: cobra.MinimumNArgs(1),
		Short: "Classify pictures with a trained network, and draw them decoded under each hypothesis",
		Long: "Classify pictures (PNG, JPEG, GIF) with a trained network. The square in the middle of each is scaled to the\n" +
			"network's images and preprocessed like them, which takes the training images. Networks with class-specific codes\n" +
			"also write <out>/<picture>_hypotheses.png: the picture decoded from each level under each class hypothesis.\n\n" +
			"Turn photos upright first: the orientation tag of a JPEG is not read.",
		Example: "  ebssc classify cat.jpg --out /tmp",
		RunE: func(cmd *cobra.Command, paths []string) error {
			pictureOf := map[string]string{} // by the file of its decodings
			for _, path := range paths {
				if file := flags.drawing(path); pictureOf[file] != "" {
					return fmt.Errorf("%s and %s would both give %s: name them one at a time, with another --out", pictureOf[file], path, file)
				}
				pictureOf[flags.drawing(path)] = path
			}
			r, err := flags.find()
			if err != nil {
				return err
			}
			pictures, err := dataset.ReadPictures(paths, r.Run.Network.Height, r.Run.Network.Width, r.Run.Network.Channels)
			if err != nil {
				return err
			}
			session, runner, err := flags.start(cmd, r, flags.out)
			if err != nil {
				return err
			}
			defer session.Close()
			for c, err := range session.Classify(cmd.Context(), runner, r, paths, pictures) {
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s, by %s\n", c.Path, r.ID)
				printScores(cmd.OutOrStdout(), runner.Set.Classes, c)
				if c.Hypotheses == nil {
					continue
				}
				if err := writePicture(cmd.OutOrStdout(), *c.Hypotheses, flags.drawing(c.Path)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags.add(cmd, ".", "folder for the pictures")
	return cmd
}

// drawing is the file that the decodings of a picture are written to.
func (flags *networkFlags) drawing(path string) string {
	name := filepath.Base(path)
	return filepath.Join(flags.out, strings.TrimSuffix(name, filepath.Ext(name))+"_hypotheses.png")
}

// printScores prints the classes, the most probable first: the probabilities of the softmax, scores, and for networks with
// class-specific codes the energies minus their mean.
func printScores(w io.Writer, classes []string, c study.Classified) {
	order, total := make([]int, len(classes)), 0.0
	for i, score := range c.Scores {
		order[i] = i
		total += math.Exp(float64(score - slices.Max(c.Scores)))
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.Scores[b], c.Scores[a]) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer table.Flush()
	fmt.Fprintln(table, "CLASS\tPROBABILITY\tSCORE\tENERGY − MEAN\t")
	for _, i := range order {
		energy := "–"
		if c.Energies != nil {
			energy = fmt.Sprintf("%+.4f", c.Energies[i])
		}
		fmt.Fprintf(table, "%s\t%.1f%%\t%.2f\t%s\t\n", classes[i], 100*math.Exp(float64(c.Scores[i]-slices.Max(c.Scores)))/total, c.Scores[i], energy)
	}
}
