// Command prepare brings what cells need and is not there yet, the XLA plugin and the data sets, and says what they compute with.
// What it has to say of downloads is not for notebooks.
package main

import (
	"context"
	"fmt"
	"os"

	"ebsscgo/experiments"
	"ebsscgo/internal/device"
	"ebsscgo/internal/train"
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
		_, err := train.FindSet(ctx, images, "", os.Stdout, func(why error) {
			fmt.Printf("MNIST stands in for CIFAR-10: %s\n", device.OneLine(why))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
