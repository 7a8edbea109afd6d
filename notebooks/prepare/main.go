// Command prepare installs the XLA plugin that cells will compute with, where there is none, and says what they compute with.
package main

import (
	"context"
	"fmt"
	"os"

	"ebsscgo/experiments/backend"
	"ebsscgo/internal/errline"
)

func main() {
	choice, err := backend.Resolve(context.Background(), "")
	if err != nil {
		fmt.Fprintln(os.Stderr, errline.Of(err))
		os.Exit(1)
	}
	fmt.Printf("cells compute on %s (%s)\n", choice.Name, choice.Why)
	if choice.Warning != "" {
		fmt.Println("warning: " + choice.Warning)
	}
}
