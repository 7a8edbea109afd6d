// Command ebssc trains the networks of “Energy-Based Spherical Sparse Coding” and writes the paper's tables anew.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"ebsscgo/internal/device"
)

func main() {
	if err := device.CheckAddressSpace(); err != nil {
		fmt.Fprintln(os.Stderr, "ebssc:", err)
		os.Exit(1)
	}
	if err := device.RestartWithHugePages(); err != nil {
		fmt.Fprintln(os.Stderr, "warning:", err)
	}
	signal.Ignore(syscall.SIGPIPE) // a run whose output nobody reads any more goes on, and saves when it is stopped
	os.Exit(execute(os.Stdout, os.Stderr, os.Args[1:]))
}
