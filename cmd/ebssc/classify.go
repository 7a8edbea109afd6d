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
	"gonum.org/v1/gonum/floats"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
	"ebsscgo/internal/study"
	"ebsscgo/internal/train"
)

func classifyCommand(stdout io.Writer) *cobra.Command {
	var flags modelFlags
	cmd := &cobra.Command{
		Use:   "classify PICTURE…",
		Short: "Classify pictures with a trained network, and draw them decoded under each hypothesis",
		Long: "Classify pictures (PNG, JPEG, GIF) with a trained network. The square in the middle of each is scaled to the\n" +
			"network's images and preprocessed like them, which takes the training images. Networks with class-specific codes\n" +
			"also write <out>/<picture>_hypotheses.png: the picture decoded from each level under each class hypothesis.\n\n" +
			"Turn photos upright first: the orientation tag of a JPEG is not read.",
		Args:    cobra.MinimumNArgs(1),
		Example: "  ebssc classify cat.jpg --out /tmp",
		RunE: func(cmd *cobra.Command, paths []string) error {
			for i, path := range paths {
				sameName := func(other string) bool { return flags.drawing(other) == flags.drawing(path) }
				if slices.ContainsFunc(paths[:i], sameName) {
					return fmt.Errorf("two pictures would give the same %s: name them one at a time, with another --out", flags.drawing(path))
				}
			}
			if err := folderExists(cmp.Or(flags.out, ".")); err != nil {
				return err
			}
			r, err := flags.best()
			if err != nil {
				return err
			}
			pictures, err := dataset.ReadPictures(paths, r.Run.Network.Height, r.Run.Network.Width, r.Run.Network.Channels)
			if err != nil {
				return err
			}
			session, runner, err := flags.start(cmd, r)
			if err != nil {
				return err
			}
			defer session.Close()
			for c, err := range session.Classify(cmd.Context(), runner, r.Run, paths, pictures) {
				if err != nil {
					return err
				}
				fmt.Fprintf(stdout, "%s, by %s\n", c.Path, r.ID)
				if err := printScores(stdout, runner.Set.Classes, c); err != nil {
					return err
				}
				if c.Hypotheses == nil {
					continue
				}
				if err := writePicture(stdout, *c.Hypotheses, flags.drawing(c.Path)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags.add(cmd, "the run's ID, as ebssc runs lists it (default: the network for CIFAR-10 here with the smallest test error)", "folder for the pictures (default: the current one)")
	return cmd
}

// drawing is the file that the decodings of a picture are written to.
func (flags *modelFlags) drawing(path string) string {
	name := filepath.Base(path)
	return filepath.Join(flags.out, strings.TrimSuffix(name, filepath.Ext(name))+"_hypotheses.png")
}

// best finds the record of the run that --run names, or that of the network for CIFAR-10 with the smallest test error, which digits in its
// place have by far.
func (flags *modelFlags) best() (best record.Record, err error) {
	if flags.run != "" {
		return findRecord(flags.results, flags.run)
	}
	if err := study.ResultsExist(flags.results); err != nil {
		return best, err
	}
	for r, err := range allRecords(flags.results) {
		if err != nil {
			return best, err
		}
		s, _, err := study.Suite.Experiment(r.Run.Experiment)
		if err != nil || s.Images != experiments.CIFAR10 || dataset.StandsIn(r.Run.Dataset.Name) || r.Run.HeldOut > 0 || best.ID != "" && r.TestErr >= best.TestErr {
			continue
		}
		if _, err := os.Stat(train.NetworkFile(filepath.Join(flags.results, r.Run.Profile), r.ID)); err == nil {
			best = r
		}
	}
	if best.ID == "" {
		return best, fmt.Errorf("no network for CIFAR-10 is in %s: train one with ebssc run table, or name another run with --run", flags.results)
	}
	return best, nil
}

// printScores prints the classes, the most probable first: the probabilities of the softmax, scores, and for networks with
// class-specific codes the energies minus their mean.
func printScores(w io.Writer, classes []string, c study.Classified) error {
	order := make([]int, len(classes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.Scores[b], c.Scores[a]) })
	softmax := make([]float64, len(classes))
	for i, score := range c.Scores {
		softmax[i] = math.Exp(float64(score - c.Scores[order[0]]))
	}
	total := floats.Sum(softmax)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := "CLASS\tPROBABILITY\tSCORE\t"
	if c.Energies != nil {
		header += "ENERGY − MEAN\t"
	}
	fmt.Fprintln(table, header)
	for _, i := range order {
		fmt.Fprintf(table, "%s\t%.1f%%\t%.2f\t", classes[i], 100*softmax[i]/total, c.Scores[i])
		if c.Energies != nil {
			fmt.Fprintf(table, "%+.4f\t", c.Energies[i])
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}
