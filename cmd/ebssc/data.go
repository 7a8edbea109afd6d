package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
)

// dataFlag begins the help of --data.
const dataFlag = "folder with CIFAR-10 in its binary version, or MNIST, or both"

func dataCommand(stderr io.Writer) *cobra.Command {
	show := func(cmd *cobra.Command, sets []*dataset.Set) {
		for _, set := range sets {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d training and %d test images, SHA-256 %s\n",
				dataset.Title(set.Name), set.Train.Len(), set.Test.Len(), set.SHA256)
		}
	}
	fetch := &cobra.Command{
		Use: "fetch", Short: "Download the XLA plugin, CIFAR-10 and MNIST into the cache unless they are here", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			choice, err := device.Resolve(cmd.Context(), "")
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "backend %s (%s)\n", choice.Name, choice.Why)
			if choice.Warning != "" {
				fmt.Fprintln(stderr, "warning: "+choice.Warning)
			}
			sets, err := dataset.Fetch(cmd.Context(), stderr)
			show(cmd, sets)
			if choice.Fallback {
				err = errors.Join(errors.New("the XLA plugin is not here; see the warning above"), err)
			}
			return err
		},
	}
	var folder string
	verify := &cobra.Command{
		Use: "verify", Short: "Read the data sets in full and print their names and fingerprints; downloads nothing", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sets, err := dataset.Verify(folder)
			show(cmd, sets)
			return err
		},
	}
	verify.Flags().StringVar(&folder, "data", "", dataFlag+" (default: $"+dataset.EnvVar+" or the cache)")
	return group(&cobra.Command{Use: "data", Short: "Fetch or verify the data sets"}, fetch, verify)
}
