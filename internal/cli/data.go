package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ebsscgo/experiments/data"
)

func dataCommand(stderr io.Writer) *cobra.Command {
	var folder string
	cmd := &cobra.Command{Use: "data", Short: "Fetch or verify the data sets"}
	cmd.PersistentFlags().StringVar(&folder, "data", "", "folder with the data (default: $"+data.EnvVar+", the cache, or a download)")
	show := func(cmd *cobra.Command, set *data.Set) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d training and %d test images, SHA-256 %s\n", data.Title(set.Name), set.Train.Len(), set.Test.Len(), set.SHA256)
	}
	fetch := &cobra.Command{
		Use: "fetch", Short: "Download CIFAR-10 and MNIST into the cache, if they are not there", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			digits, err := data.MNIST(cmd.Context(), folder, stderr)
			if err != nil {
				return err
			}
			show(cmd, digits)
			colours, err := data.CIFAR10(cmd.Context(), folder, stderr)
			if err != nil {
				return err
			}
			show(cmd, colours)
			return nil
		},
	}
	verify := &cobra.Command{
		Use: "verify", Short: "Read CIFAR-10 in full and print its name and fingerprint", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := data.CIFAR10(cmd.Context(), folder, stderr)
			if err != nil {
				return err
			}
			show(cmd, set)
			return nil
		},
	}
	return group(cmd, fetch, verify)
}
