package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
)

func dataCommand() *cobra.Command {
	fetch := &cobra.Command{
		Use: "fetch [DATA…]", ValidArgs: kindNames(),
		Short:   "Download the XLA plugin, CIFAR-10 and MNIST, or the data named",
		Example: "  ebssc data fetch\n  ebssc data fetch MNIST",
		RunE: func(cmd *cobra.Command, named []string) error {
			var kinds []experiments.DataKind
			for _, name := range named {
				images, err := experiments.FindImages(name)
				if err != nil {
					return err
				}
				kinds = append(kinds, images.Kind)
			}
			if kinds == nil { // what the paper's studies need
				kinds = []experiments.DataKind{experiments.CIFAR10, experiments.MNIST}
			}
			choice, err := device.Resolve(cmd.Context(), "")
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "backend %s (%s)\n", choice.Name, choice.Why)
				if choice.Warning != "" {
					fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+choice.Warning)
				}
			}
			for _, kind := range kinds {
				set, missing := dataset.Find(cmd.Context(), kind, "", cmd.ErrOrStderr())
				if err = errors.Join(err, missing); missing == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %d training and %d test images, SHA-256 %s\n",
						dataset.Title(set.Name), set.Train.Len(), set.Test.Len(), set.SHA256)
				}
			}
			return err
		},
	}
	return group(&cobra.Command{Use: "data", Short: "Fetch the data sets; doctor checks them"}, fetch)
}

// kindNames returns the names of all declared data sets.
func kindNames() (names []string) {
	for _, images := range experiments.DataSets {
		names = append(names, string(images.Kind))
	}
	return names
}

func doctorCommand() *cobra.Command {
	var folder, name string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the backend, data and memory, and suggest fixes", Args: cobra.NoArgs,
		Long: "Check the backend, the data, the memory and the program, and suggest fixes. Exit status " +
			"1 without a backend.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			profile, err := experiments.FindProfile(name)
			if err != nil {
				return err
			}
			findings := []device.Finding{device.Diagnose(cmd.Context())}
			for _, images := range experiments.DataSets {
				findings = append(findings, diagnose(images.Kind, folder))
			}
			memory := device.CheckMemory("profile "+name, uint64(profile.Memory*device.GiB))
			findings = append(findings, memory, diagnoseProgram(record.Commit()))
			const column = 24 // of the details
			for _, f := range findings {
				fmt.Fprintf(cmd.OutOrStdout(), "%-14s %-8s %s\n", f.What, f.Status, fold(f.Detail, column))
				if f.Do != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "%*s→ %s\n", column, "", fold(f.Do, column+2))
				}
			}
			if findings[0].Status == device.Missing {
				return errors.New("no run can begin without a backend: see above")
			}
			return nil
		},
	}
	profileFlag(cmd, &name)
	dataFlag(cmd, &folder)
	return cmd
}

// diagnoseProgram checks whether records can name the program's commit.
func diagnoseProgram(commit string) device.Finding {
	f := device.Finding{What: "program", Status: device.OK, Detail: "commit " + commit}
	if commit == "unknown" {
		f.Status = device.Warn
		f.Do = "for records that name their commit build by ./build.sh, which says why it is unknown"
	}
	return f
}

// diagnose says which copy of a data set is here, see [dataset.Local], or what to do if none is.
func diagnose(images experiments.DataKind, folder string) device.Finding {
	set, err := dataset.Local(images, folder)
	if set != nil {
		return device.Finding{What: string(images), Status: device.OK,
			Detail: dataset.Title(set.Name) + ", SHA-256 " + set.SHA256}
	}
	f := device.Finding{What: string(images), Status: device.Missing,
		Detail: "not in the cache, or damaged there",
		Do: "a run downloads it, as does ebssc data fetch " + string(images) +
			"; or name its folder with --data or $" + dataset.EnvVar}
	if err != nil { // which says what to do
		f.Detail, f.Do = err.Error(), ""
	}
	return f
}
