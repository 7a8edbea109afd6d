package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/pipeline"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/safefile"
)

// networkFlags select a recorded run whose trained network is used, where it computes, and where pictures go.
type networkFlags struct {
	pipeline.Options
	run, out string
}

// add adds the flags; out is the default of --out.
func (flags *networkFlags) add(cmd *cobra.Command, out, about string) {
	f := cmd.Flags()
	f.StringVar(&flags.run, "run", "", "a run's ID, or an experiment, for its network here that errs least (default: that of all on CIFAR-10)")
	f.StringVar(&flags.out, "out", out, about)
	f.StringVar(&flags.Backend, "backend", "", "cpu, cuda, go or a GoMLX configuration")
	dataFlag(cmd, &flags.Data)
	resultsFlag(cmd, &flags.Results)
}

// find finds the record that --run means, and its folder: of several the one that errs least. Those whose networks are here go first, trials last.
func (flags *networkFlags) find(cmd *cobra.Command) (best record.Record, folder string, err error) {
	flags.Out = cmd.ErrOrStderr()
	profiles, err := report.LoadAll(flags.Results, "")
	if err != nil {
		return best, "", err
	}
	first := math.Inf(1)
	for _, p := range profiles {
		for _, id := range slices.Sorted(maps.Keys(p.Records)) {
			r := p.Records[id]
			s, _, undeclared := catalogue.All.Experiment(r.Run.Experiment)
			switch {
			case id == flags.run:
				return r, p.Folder, nil
			case undeclared != nil, r.Run.HeldOut > 0, flags.run != "" && flags.run != r.Run.Experiment,
				flags.run == "" && (s.Images != experiments.CIFAR10 || dataset.StandsIn(r.Run.Dataset.Name)):
				continue
			}
			rank := r.TestErr // below 100, in percent
			if p.Trial(r) {
				rank += 100
			}
			if _, missing := os.Stat(record.NetworkFile(p.Folder, id)); missing != nil {
				rank += 1000
			}
			if rank < first {
				first, best, folder = rank, r, p.Folder
			}
		}
	}
	if best.ID != "" {
		return best, folder, nil
	}
	command := "table"
	if flags.run != "" {
		s, _, err := catalogue.All.Experiment(flags.run)
		if err != nil {
			return best, "", fmt.Errorf("no run %s is in %s, see ebssc runs; %w", flags.run, flags.Results, err)
		}
		command = s.Name + " --only " + flags.run
	}
	return best, "", fmt.Errorf("no such network is in %s; to train one: ebssc run %s --results %[1]s", flags.Results, command)
}

// writePicture writes a figure to a .png file in a folder that it makes, and prints the file's name.
func writePicture(stdout io.Writer, figure plot.Figure, name string) error {
	picture, err := figure.PNG()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = safefile.Write(name, picture)
	}
	if err != nil {
		return fmt.Errorf("writing a picture: %w; name another place with --out", err)
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
			r, folder, err := flags.find(cmd)
			if err != nil {
				return err
			}
			if image < 0 || image >= r.Run.TestImages {
				return fmt.Errorf("--image %d: the run has %d test images, the first is 0", image, r.Run.TestImages)
			}
			network, free, err := pipeline.Open(cmd.Context(), flags.Options, folder, r)
			if err != nil {
				return err
			}
			defer free()
			figure, err := network.DecodeImage(cmd.Context(), image)
			if err != nil {
				return err
			}
			return writePicture(cmd.OutOrStdout(), figure, flags.out)
		},
	}
	flags.add(cmd, "decoded.png", "the .png file to write, in a folder that is made")
	cmd.Flags().IntVar(&image, "image", 0, "number of the test image, from 0")
	return cmd
}

func classifyCommand() *cobra.Command {
	var flags networkFlags
	drawing := func(path string) string { // the file of a picture's decodings
		name := filepath.Base(path)
		return filepath.Join(flags.out, strings.TrimSuffix(name, filepath.Ext(name))+"_hypotheses.png")
	}
	cmd := &cobra.Command{
		Use: "classify PICTURE…", Args: cobra.MinimumNArgs(1),
		Short: "Classify pictures with a trained network, and draw them decoded under each hypothesis",
		Long: "Classify pictures (PNG, JPEG, GIF) with a trained network. The square in the middle of each is scaled to the\n" +
			"network's images and preprocessed like them, which takes the training images. Networks with class-specific codes\n" +
			"also write <out>/<picture>_hypotheses.png: the picture decoded from each level under each class hypothesis.\n\n" +
			"Turn photos upright first: the orientation tag of a JPEG is not read.",
		Example: "  ebssc classify cat.jpg --out /tmp",
		RunE: func(cmd *cobra.Command, paths []string) error {
			r, folder, err := flags.find(cmd)
			if err != nil {
				return err
			}
			pictureOf := map[string]string{} // by the file of its decodings
			for _, path := range paths {
				if other := pictureOf[drawing(path)]; other != "" && r.Run.Network.Classifier != ebssc.Linear {
					return fmt.Errorf("%s and %s would both give %s: name them one at a time, with another --out", other, path, drawing(path))
				}
				pictureOf[drawing(path)] = path
			}
			pictures, err := dataset.ReadPictures(paths, r.Run.Network.Height, r.Run.Network.Width, r.Run.Network.Channels)
			if err != nil {
				return err
			}
			network, free, err := pipeline.Open(cmd.Context(), flags.Options, folder, r)
			if err != nil {
				return err
			}
			defer free()
			seen, scores, err := network.Classify(cmd.Context(), pictures)
			if err != nil {
				return err
			}
			for i, path := range paths {
				fmt.Fprintf(cmd.OutOrStdout(), "%s, by %s\n", path, r.ID)
				printScores(cmd.OutOrStdout(), r.Run, network.Classes, scores[i])
				if r.Run.Network.Classifier == ebssc.Linear {
					continue
				}
				figure, err := network.Hypotheses(cmd.Context(), filepath.Base(path), pictures.Slice(i, i+1), seen[i])
				if err == nil {
					err = writePicture(cmd.OutOrStdout(), figure, drawing(path))
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags.add(cmd, ".", "folder for the pictures, which is made")
	return cmd
}

// printScores prints the classes, the most probable first: the probabilities of the softmax, scores, and for networks with
// class-specific codes the energies minus their mean.
func printScores(w io.Writer, run experiments.Run, classes []string, scores []float32) {
	order, logs := make([]int, len(scores)), ebssc.Scores{scores}.LogProbabilities()[0]
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer table.Flush()
	fmt.Fprintln(table, "CLASS\tPROBABILITY\tSCORE\tENERGY − MEAN\t")
	for _, i := range order {
		energy := "–"
		if run.Network.Classifier != ebssc.Linear {
			energy = fmt.Sprintf("%+.4f", scores[i]/float32(run.Hyper.EnergyScale))
		}
		fmt.Fprintf(table, "%s\t%.1f%%\t%.2f\t%s\t\n", classes[i], 100*math.Exp(logs[i]), scores[i], energy)
	}
}
