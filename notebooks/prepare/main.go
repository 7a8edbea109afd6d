// Command prepare brings what cells need and is not there yet, the XLA plugin and the data sets, and says what they compute with.
// What it has to say of downloads is not for notebooks.
package main

import (
	"context"
	"fmt"
	"os"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
)

func main() {
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, device.OneLine(err))
		os.Exit(1)
	}
}

func prepare(ctx context.Context) error {
	choice, err := device.Resolve(ctx, "")
	if err != nil {
		return err
	}
	fmt.Printf("cells compute on %s (%s)\n", choice.Name, choice.Why)
	if choice.Warning != "" {
		fmt.Println("warning: " + choice.Warning)
	}
	for _, images := range []experiments.Images{experiments.MNIST, experiments.CIFAR10} {
		if _, err := dataset.Find(ctx, images, "", os.Stdout); err != nil {
			return err
		}
	}
	return nil
}
