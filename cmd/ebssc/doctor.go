package main

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
)

func doctorCommand() *cobra.Command {
	var folder, name, results string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check backends, GPU, data, memory and disk, and suggest fixes; exit status 1 if the default backend is missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := experiments.FindProfile(name)
			if err != nil {
				return err
			}
			room := device.CheckResources(device.Requirements{What: "profile " + name, Memory: gib(profile.Memory), Disk: gib(profile.Disk), Folder: results})
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			found := device.Diagnose(cmd.Context())
			for _, finding := range slices.Concat(found, room, diagnoseData(folder)) {
				fmt.Fprintf(w, "%s\t%s\t%s\n", finding.What, finding.Status, finding.Detail)
				if finding.Do != "" {
					fmt.Fprintf(w, "\t\t→ %s\n", finding.Do)
				}
			}
			if err := w.Flush(); err != nil {
				return err
			}
			if found[0].Status == device.Missing {
				return errors.New("no run can begin without a backend: see above")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "profile", "quick", "whose requirements of memory and disk are compared with the free ones: "+profileNames())
	cmd.Flags().StringVar(&results, "results", "results", "folder for the results, for its disk")
	cmd.Flags().StringVar(&folder, "data", "", dataFlag+" (default: $"+dataset.EnvVar+" or the cache)")
	return cmd
}

// diagnoseData says where each data set is, see [dataset.Local], and suggests what to do if one is missing.
func diagnoseData(folder string) (findings []device.Finding) {
	for _, which := range []experiments.Images{experiments.CIFAR10, experiments.MNIST} {
		finding := device.Finding{What: string(which), Status: device.Missing}
		set, err := dataset.Local(which, folder)
		switch {
		case errors.Is(err, cache.ErrUnusable):
			finding.Detail = err.Error() // which says what to do
		case err != nil:
			finding.Detail, finding.Do = err.Error(), "repair that folder, or name another with --data or $"+dataset.EnvVar
		case set == nil:
			finding.Detail, finding.Do = "not in the cache, or damaged there", "name its folder with --data or $"+dataset.EnvVar+", or download it: ebssc data fetch"
		default:
			finding.Status, finding.Detail = device.OK, fmt.Sprintf("%s, SHA-256 %s", dataset.Title(set.Name), set.SHA256)
		}
		findings = append(findings, finding)
	}
	return findings
}

// gib is a number of GiB in bytes.
func gib(count float64) uint64 { return uint64(count * (1 << 30)) }
