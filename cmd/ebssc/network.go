package main

import (
	"cmp"
	"errors"
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
	"ebsscgo/internal/tensor"
	"ebsscgo/internal/train"
)

// networkFlags select a recorded run whose trained network is used, where it computes, and where
// pictures go.
type networkFlags struct {
	pipeline.Options
	run, out string
}

// add adds the flags but --out, which commands that draw add.
func (flags *networkFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&flags.run, "run", "", "a run's ID, or an experiment, for its network here that "+
		"errs least (default: that of all on CIFAR-10)")
	f.StringVar(&flags.Backend, "backend", "", "cpu, cuda, go or a GoMLX configuration")
	dataFlag(cmd, &flags.Data)
	placeFlag(cmd, &flags.Pictures.Folder, "pictures", "", "folder of your own pictures that the "+
		"network was trained on")
	resultsFlag(cmd, &flags.Results)
}

// candidate is a record that --run may mean.
type candidate struct {
	record.Record
	folder string
	rank   []float64 // the least is the best; what stands first decides
}

// find finds the record that --run means, and its folder: of several the one that errs least. Those
// whose networks are here go first, then those of profiles that are no demo, then those that are no
// trial. Networks of a person's own pictures have classes of their own: --pictures names the
// folder, and without it find does not choose among them and others.
func (flags *networkFlags) find(cmd *cobra.Command) (best record.Record, folder string, err error) {
	flags.Out = cmd.ErrOrStderr()
	profiles, err := report.LoadAll(flags.Results, "")
	if err != nil {
		return best, "", err
	}
	named := "" // own pictures
	if flags.Pictures.Folder != "" {
		if flags.Data != "" {
			return best, "", errPicturesAndData
		}
		named = flags.Pictures.Images().Name
	}
	found := map[string]candidate{} // the best, by the name of own pictures or "" for all other data
	for _, p := range profiles {
		for _, id := range slices.Sorted(maps.Keys(p.Records)) {
			r := p.Records[id]
			s, _, undeclared := catalogue.All.Experiment(r.Run.Experiment)
			meant := flags.run == r.Run.Experiment
			if flags.run == "" {
				meant = s.Images == experiments.CIFAR10 &&
					!experiments.NamedImages(r.Run.Dataset.Name).StandsIn
			}
			own := ""
			if experiments.Own(r.Run.Dataset.Name) {
				own = r.Run.Dataset.Name
			}
			switch {
			case id == flags.run:
				return r, p.Folder, nil
			case undeclared != nil, r.Run.HeldOut > 0, !meant, named != "" && own != named:
				continue
			}
			c := candidate{r, p.Folder, []float64{0, 0, 0, r.TestErr}}
			if _, missing := os.Stat(record.NetworkFile(p.Folder, id)); missing != nil {
				c.rank[0] = 1
			}
			if p.Demo { // its error is of few images
				c.rank[1] = 1
			}
			if p.Trial(r) {
				c.rank[2] = 1
			}
			if other, ok := found[own]; !ok || slices.Compare(c.rank, other.rank) < 0 {
				found[own] = c
			}
		}
	}
	names := slices.Sorted(maps.Keys(found)) // "" first
	if len(names) == 1 || len(names) > 1 && names[0] == "" && flags.run == "" {
		chosen := found[names[0]]
		return chosen.Record, chosen.folder, nil
	}
	if len(names) > 1 {
		var ids []string
		for _, own := range names {
			ids = append(ids, found[own].ID+" of "+filepath.Base(found[own].folder))
		}
		return best, "", fmt.Errorf("several networks fit, and they have other classes: name one by "+
			"--run and its ID, %s, or pictures by --pictures", strings.Join(ids, ", "))
	}
	command := "table"
	if flags.run != "" {
		s, _, err := catalogue.All.Experiment(flags.run)
		if err != nil {
			return best, "", fmt.Errorf("no run %s is in %s, see ebssc runs; %w",
				flags.run, flags.Results, err)
		}
		command = s.Name + " --only " + flags.run
	}
	if named != "" {
		command += flags.Pictures.Flags()
	}
	folder = safefile.Absolute(flags.Results)
	return best, "", fmt.Errorf("no such network is in %s; to train one: ebssc run %s --results %s",
		folder, command, argument(folder))
}

// writePicture writes a figure to a .png file in a folder that it makes, and prints the file's
// name.
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
		Use: "decode", Short: "Draw a test image decoded from every level of a trained network",
		Args: cobra.NoArgs,
		Long: "Draw a test image decoded from every level of a trained network, as the paper's Fig. 4 " +
			"does.",
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
				return fmt.Errorf("--image %d: the run has %d test images, the first is 0",
					image, r.Run.TestImages)
			}
			network, free, err := pipeline.Open(cmd.Context(), flags.Options, folder, r)
			if err != nil {
				return err
			}
			defer free()
			set, err := pipeline.TrainedOn(cmd.Context(), flags.Options, r)
			if err != nil {
				return err
			}
			figure, err := network.DecodeImage(cmd.Context(), train.Tested(set, r.Run), image)
			if err != nil {
				return err
			}
			return writePicture(cmd.OutOrStdout(), figure, flags.out)
		},
	}
	flags.add(cmd)
	placeFlag(cmd, &flags.out, "out", "decoded.png", "the .png file to write, in a folder that "+
		"is made")
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
		Short: "Classify pictures with a trained network",
		Long: "Classify pictures (PNG, JPEG, GIF, WebP, BMP, TIFF) with a trained network. The square " +
			"in the middle of each is scaled to the network's images and preprocessed like them, by " +
			"what lies beside the network. For a network of digits, a picture becomes one of MNIST's " +
			"kind: white ink on black, scaled and centred, which is said. With --out, networks with " +
			"class-specific codes also write <out>/<picture>_hypotheses.png: the picture decoded from " +
			"each level under each class hypothesis. Pictures that cannot be read are named, with exit " +
			"status 1.\n\nSCORE is what the softmax takes: that of a class with class-specific codes is " +
			"its energy times a factor. ENERGY − MEAN compares the energies of the classes.",
		Example: "  ebssc classify cat.jpg --out /tmp",
		RunE: func(cmd *cobra.Command, paths []string) error {
			r, folder, err := flags.find(cmd)
			if err != nil {
				return err
			}
			pictureOf := map[string]string{} // by the file of its decodings
			draw := flags.out != "" && r.Run.Network.Classifier != ebssc.Linear
			if flags.out != "" && !draw {
				fmt.Fprintf(cmd.ErrOrStderr(), "--out: %s has a linear classifier, of which nothing is "+
					"drawn\n", r.ID)
			}
			const most = 100
			if classes := r.Run.Network.Classes; draw && classes > most {
				return fmt.Errorf("--out draws a picture for each class, and %s has %d, more than %d: "+
					"leave it out", r.ID, classes, most)
			}
			for _, path := range paths {
				if other := pictureOf[drawing(path)]; other != "" && draw {
					return fmt.Errorf("%s and %s would both give %s: name them one at a time, "+
						"with another --out", other, path, drawing(path))
				}
				pictureOf[drawing(path)] = path
			}
			size := r.Run.Network
			images, read, unread, err := dataset.ReadPictures(cmd.Context(), paths, experiments.Images{
				Height: size.Height, Width: size.Width, Channels: size.Channels,
				Digits: experiments.NamedImages(r.Run.Dataset.Name).Digits}, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			failed := sayUnread(cmd.ErrOrStderr(), unread, len(paths))
			if len(read) == 0 {
				return failed
			}
			network, free, err := pipeline.Open(cmd.Context(), flags.Options, folder, r)
			if err != nil {
				return err
			}
			defer free()
			seen, scores, err := network.Classify(cmd.Context(), images)
			if err != nil {
				return err
			}
			for i, picture := range read {
				path := picture.Path
				fmt.Fprintf(cmd.OutOrStdout(), "%s, by %s of %s\n", path, r.ID, filepath.Base(folder))
				for _, done := range picture.Done {
					fmt.Fprintln(cmd.OutOrStdout(), done)
				}
				printScores(cmd.OutOrStdout(), r.Run, network.Classes, scores[i])
				if !draw {
					continue
				}
				figure, err := network.Hypotheses(cmd.Context(), filepath.Base(path),
					images.Slice(i, i+1), tensor.Pick(seen, i))
				if err == nil {
					err = writePicture(cmd.OutOrStdout(), figure, drawing(path))
				}
				if err != nil {
					return err
				}
			}
			return failed
		},
	}
	flags.add(cmd)
	placeFlag(cmd, &flags.out, "out", "", "folder, which is made, for drawings of the pictures under "+
		"each class hypothesis; none are drawn without it")
	return cmd
}

// sayUnread returns an error if some of all pictures could not be read: that of the only one, or
// else how many there are, after a line for each.
func sayUnread(stderr io.Writer, unread []error, all int) error {
	if len(unread) < 2 {
		return errors.Join(unread...)
	}
	for _, err := range unread {
		fmt.Fprintln(stderr, err)
	}
	return fmt.Errorf("%d of %d pictures could not be read: see above", len(unread), all)
}

func halveCommand() *cobra.Command {
	var flags networkFlags
	cmd := &cobra.Command{
		Use: "halve", Short: "Write a trained network in half precision, to give to others",
		Args: cobra.NoArgs,
		Long: "Replace the file of a trained network by one in half precision, half as large, and put " +
			"its whitening beside it, so that `ebssc classify` needs no data. halve then classifies " +
			"the test images, and says how many get another class than the record says.",
		Example: "  ebssc halve --run ssc-ebc67 --results /tmp/mine",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, folder, err := flags.find(cmd)
			if err != nil {
				return err
			}
			changed, err := pipeline.Halve(cmd.Context(), flags.Options, folder, r)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(),
				"%s: of %d test images %d get another class than the record says\n",
				record.NetworkFile(folder, r.ID), r.Run.TestImages, changed)
			return nil
		},
	}
	flags.add(cmd)
	return cmd
}

// printScores prints the classes, the most probable first: the probabilities of the softmax,
// scores, and for networks with class-specific codes the energies minus their mean. Of many classes
// it prints the first.
func printScores(w io.Writer, run experiments.Run, classes []string, scores []float32) {
	order := make([]int, len(scores))
	logs := ebssc.Scores{scores}.LogProbabilities()[0]
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer table.Flush()
	heading, energies := "CLASS\tPROBABILITY\tSCORE\t", run.Network.Classifier != ebssc.Linear
	if energies {
		heading += "ENERGY − MEAN\t"
	}
	fmt.Fprintln(table, heading)
	const most = 20 // rows
	for _, i := range order[:min(most, len(order))] {
		fmt.Fprintf(table, "%s\t%.1f%%\t%.2f\t", classes[i], 100*math.Exp(logs[i]), scores[i])
		if energies {
			fmt.Fprintf(table, "%+.4f\t", scores[i]/float32(run.Hyper.EnergyScale))
		}
		fmt.Fprintln(table)
	}
}
